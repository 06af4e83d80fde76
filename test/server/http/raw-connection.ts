import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One HTTP response as received. Header names are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A TCP connection that sends exactly the given bytes, unlike HTTP clients. It never closes its side on its own. */
export interface RawConnection {
  readonly socket: Socket;
  send(bytes: string | Buffer): void;
  /** The next response, 1xx included. Rejects when the connection ends without one. */
  response(): Promise<RawResponse>;
  /** Resolves once the other side has closed. */
  readonly closed: Promise<void>;
  destroy(): void;
}

export async function openRaw(port: number): Promise<RawConnection> {
  // Half-open: tests cover clients that never close their side.
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  // Grows by doubling, because responses may have tens of megabytes.
  let turn = Buffer.alloc(65_536);
  let received = turn.subarray(0, 0);
  let hasEnded = false;
  let wake: () => void = () => undefined;
  socket.on('data', (chunk) => {
    const used = received.length;
    if (received.byteOffset + used + chunk.length > turn.byteOffset + turn.length) {
      turn = Buffer.alloc(2 * (used + chunk.length));
      received.copy(turn);
      received = turn.subarray(0, used);
    }
    const from = received.byteOffset - turn.byteOffset;
    chunk.copy(turn, from + used);
    received = turn.subarray(from, from + used + chunk.length);
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    const end = (): void => {
      hasEnded = true;
      wake();
      resolve();
    };
    socket.on('end', end).on('close', end).on('error', end);
  });
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    async response() {
      for (;;) {
        const next = readResponse(received);
        if (next !== undefined) {
          received = received.subarray(next.length);
          return next.response;
        }
        if (hasEnded) throw new Error(`the connection ended after: ${received.toString('latin1').slice(0, 200)}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    closed,
    destroy: () => void socket.destroy(),
  };
}

/** The head of a request, with the length of its body. */
export function head(requestLine: string, headers: Record<string, string | number> = {}): string {
  const lines = Object.entries({ host: 'gateway.test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${requestLine} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A complete POST request. */
export function post(path: string, body: string, headers: Record<string, string | number> = {}): string {
  return head(`POST ${path}`, { 'content-length': Buffer.byteLength(body), ...headers }) + body;
}

function readResponse(bytes: Buffer): { response: RawResponse; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < length) return undefined;
  return { response: { status, headers, body: bytes.toString('utf8', end + 4, length) }, length };
}
