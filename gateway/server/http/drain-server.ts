import type { Server, ServerResponse } from 'node:http';
import { clock } from '../../clock/clock.ts';
import type { ClientConnections } from './client-connections.ts';

const CLOSE_IDLE_EVERY_MS = 50;
/** How long a new connection may take to send its first byte. */
const FIRST_BYTE_TIMEOUT_MS = 250;

/**
 * Makes each response close its connection from now on. Otherwise a client or load balancer might send its next call while the
 * connection closes, and not learn whether the call was handled.
 */
export function announceClose(server: Server, { open }: ClientConnections): void {
  for (const { responses } of open) {
    const next = responses.find(({ headersSent }) => !headersSent);
    if (next === undefined) continue;
    next.shouldKeepAlive = false;
    next.removeHeader('Keep-Alive');
  }
  const announce = (_request: unknown, response: ServerResponse): void => {
    response.shouldKeepAlive = false;
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.prependListener(event, announce);
}

/** Stops accepting connections, waits for requests in progress, and destroys connections after `timeoutMs`. */
export async function closeServer(server: Server, connections: ClientConnections, timeoutMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // Browsers open connections in advance. Node does not count them as idle before their first byte.
  const firstByteTimer = clock.setTimeout(() => {
    for (const socket of connections.sockets) if (socket.bytesRead === 0) socket.destroy();
  }, FIRST_BYTE_TIMEOUT_MS);
  // A connection whose last response is sent after `close` would otherwise stay open for its keep-alive time.
  const idleTimer = clock.setInterval(() => {
    // After pending input is read: a connection with an unread request also looks idle.
    clock.setImmediate(() => {
      server.closeIdleConnections();
    });
  }, CLOSE_IDLE_EVERY_MS);
  const deadlineTimer = clock.setTimeout(() => {
    for (const socket of connections.sockets) socket.destroy();
  }, timeoutMs);
  await closed;
  // The server does not know connections that another process has accepted.
  await connections.allClosed();
  clock.clearTimeout(firstByteTimer);
  clock.clearInterval(idleTimer);
  clock.clearTimeout(deadlineTimer);
}
