import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/*
 * The only file that uses what Node does not document: members of its sockets and of its HTTP parser. It was tested with
 * Node 20.19 to 26. test/server/http/node-internals.test.ts holds for each of them, and runs with every Node version that
 * Gatehouse supports (`npm run test:all -- runtimes`).
 */

/** `HTTPParser.kOnBody`: Node's parser calls it with each part of a body, and skips the part without one. */
const ON_BODY = 3;
/** What `onIncoming` returns for an upgrade: the rest of the read is not HTTP. */
const SKIP_REST = 2;

/** Node uses a parser for one connection after the other. It sets `onIncoming` for each. */
interface Parser {
  [ON_BODY]?: ((chunk: Buffer) => unknown) | undefined;
  onIncoming: (request: IncomingMessage & { upgrade: boolean }) => number;
}

interface Internals {
  readonly parser?: Parser | null;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/**
 * Rises with each byte that the operating system takes, to the bytes written. It may be negative before: a large write is in
 * both lengths. Node's socket timeout reads the same member of the handle.
 */
export function sentBytes(socket: Socket): number {
  const { _handle: handle } = socket as Internals;
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
}

/**
 * Skips what was read from a connection, which must not be read again: Node would take 15 µs for each of 1,700 requests, and
 * 1 µs for each of 11,000 chunks.
 */
export function skipInput(socket: Socket): void {
  const { parser } = socket as Internals;
  const onBody = parser?.[ON_BODY];
  // Without one, it is skipped already.
  if (!parser || onBody === undefined) return;
  parser[ON_BODY] = undefined;
  parser.onIncoming = (request) => {
    request.upgrade = false;
    return SKIP_REST;
  };
  // Before Node's own listener, which gives the parser back.
  socket.prependOnceListener('close', () => {
    parser[ON_BODY] = onBody;
  });
}
