import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/*
 * The only file that uses what Node does not document: members of its sockets and of its HTTP parser, and methods that are
 * replaced. test/server/http/node-internals.test.ts holds for each of them, and runs with every Node version that Gatehouse
 * supports (`npm run test:all -- runtimes`).
 */

/** `HTTPParser.kOnHeaders`: Node's parser calls it with each 32 headers of a head that is not complete (node_http_parser.cc). */
const ON_HEADERS = 1;
/** `HTTPParser.kOnBody`: Node's parser calls it with each part of a body, and skips the part without one. */
const ON_BODY = 3;
/** What `onIncoming` returns for an upgrade: the rest of the read is not HTTP. */
const SKIP_REST = 2;

type OnHeaders = (this: unknown, headers: readonly string[], url: string) => void;
type OnBody = (this: unknown, chunk: Buffer) => unknown;

/** Node uses a parser for one connection after the other. */
interface Parser {
  [ON_HEADERS]?: OnHeaders;
  [ON_BODY]?: OnBody | undefined;
  /** What it has collected of a head: names and values. */
  _headers: string[];
  onIncoming: (request: IncomingMessage & { upgrade: boolean }) => number;
}

interface Internals {
  readonly parser?: Parser | null;
  /** The response that is not complete, of the oldest request. */
  readonly _httpMessage?: ServerResponse | null;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/** Node's own functions. Parsers in its pool may still have those of a closed connection. */
let nodeOnHeaders: OnHeaders | undefined;
let nodeOnBody: OnBody | undefined;

/** The response to the oldest request of a connection of a server, until it is complete. */
export function pendingResponse(socket: Duplex): ServerResponse | undefined {
  return (socket as Internals)._httpMessage ?? undefined;
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
 * Calls a function before Node keeps further headers of a head that is not complete, until the connection is closed.
 * @param mayKeep receives the number of headers that are kept already. If it returns false, they are dropped, and the
 * connection is not read
 */
export function watchHeads(socket: Socket, mayKeep: (headers: number) => boolean): void {
  const { parser } = socket as Internals;
  if (parser?.[ON_HEADERS]?.name === 'parserOnHeaders') nodeOnHeaders = parser[ON_HEADERS];
  const collect = nodeOnHeaders;
  if (!parser || collect === undefined) return;
  const onHeaders: OnHeaders = (headers, url) => {
    if ((socket as Internals).parser !== parser || mayKeep(parser._headers.length / 2))
      collect.call(parser, headers, url);
    else {
      skipNextRequest(socket, parser);
      socket.pause();
    }
  };
  parser[ON_HEADERS] = onHeaders;
  // Before Node's own listener, which gives the parser back.
  socket.prependOnceListener('close', () => {
    if (parser[ON_HEADERS] === onHeaders) parser[ON_HEADERS] = collect;
  });
}

/**
 * Calls a function for each chunk of a body that Node's parser finds, also if Node drops the body, until the connection is
 * closed. @returns whether it does
 */
export function watchBodies(socket: Socket, onChunk: (bytes: number) => void): boolean {
  const { parser } = socket as Internals;
  const collect = bodyListenerOf(parser);
  if (!parser || collect === undefined) return false;
  const onBody: OnBody = (chunk) => {
    if ((socket as Internals).parser === parser) onChunk(chunk.length);
    return collect.call(parser, chunk);
  };
  parser[ON_BODY] = onBody;
  socket.prependOnceListener('close', () => {
    if (parser[ON_BODY] === onBody) parser[ON_BODY] = collect;
  });
  return true;
}

/** Skips what was read from a connection: Node would take 15 µs for each request, and 1 µs for each of 11,000 chunks. */
export function skipInput(socket: Socket): void {
  const { parser } = socket as Internals;
  if (!parser) return;
  const collect = bodyListenerOf(parser);
  parser[ON_BODY] = undefined;
  socket.prependOnceListener('close', () => {
    if ((socket as Internals).parser === parser) parser[ON_BODY] = collect;
  });
  skipNextRequest(socket, parser);
}

/** Passes each chunk of a body to a function, and `null` after the last one. @returns the request's own method */
export function divertBody(
  request: IncomingMessage,
  take: (chunk: Buffer | null) => boolean,
): (chunk: Buffer | null) => boolean {
  const push = request.push.bind(request);
  request.push = take;
  return push;
}

/** Calls `then` each time after `end`: many responses are written later, and an event follows only when all is sent. */
export function afterEnd(response: ServerResponse, then: () => void): void {
  const end = response.end.bind(response) as (...parts: unknown[]) => ServerResponse;
  response.end = (...parts: unknown[]) => {
    end(...parts);
    then();
    return response;
  };
}

function bodyListenerOf(parser: Parser | null | undefined): OnBody | undefined {
  if (parser?.[ON_BODY]?.name === 'parserOnBody') nodeOnBody = parser[ON_BODY];
  return nodeOnBody;
}

/** Without an upgrade, Node does not use the parser again before the connection is closed. */
function skipNextRequest(socket: Socket, parser: Parser): void {
  parser._headers = [];
  parser.onIncoming = (request) => {
    request.upgrade = false;
    socket.destroy();
    return SKIP_REST;
  };
}
