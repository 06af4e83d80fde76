import { createServer, STATUS_CODES, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { refusalAnswer } from '../jsonrpc/answer.ts';
import { RpcError, type Reason } from '../jsonrpc/errors.ts';
import { withExpressPrototypes } from './express-prototypes.ts';

/** Longer than the idle time of usual balancers (60 s), so that they never send on a connection that we just closed. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_TIMEOUT_MS = 10_000;
const CLOSE_IDLE_EVERY_MS = 50;

/** A listening server. */
export interface Listener {
  readonly port: number;
  /** Takes no more connections, lets requests under way end, and breaks off those that take longer. */
  drain(limitMs: number): Promise<void>;
}

/** @throws when the address is taken or not ours */
export async function listen(app: Express, host: string, port: number, requestTimeoutMs: number): Promise<Listener> {
  const server = createServer(
    {
      ...withExpressPrototypes(app),
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      connectionsCheckingInterval: Math.min(5_000, requestTimeoutMs),
    },
    app,
  );
  server.on('clientError', onClientError);
  server.on('connect', (_request, socket: Duplex) => {
    refuse(socket, 'verb-not-allowed', 'Allow: POST, OPTIONS\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, drain: (limitMs) => drain(server, limitMs) };
}

async function drain(server: Server, limitMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection whose last answer went out after `close` would otherwise stay for its keep-alive time.
  const idle = setInterval(() => {
    server.closeIdleConnections();
  }, CLOSE_IDLE_EVERY_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
  }, limitMs);
  await closed;
  clearInterval(idle);
  clearTimeout(limit);
}

/** What is not HTTP, or comes too slowly, never reaches the app. */
function onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
  else refuse(socket, error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'body-too-slow' : 'bad-http', '');
}

function refuse(socket: Duplex, reason: Reason, headers: string): void {
  const { status, body } = refusalAnswer('null', new RpcError(reason));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`,
  );
}
