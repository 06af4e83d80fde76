import type { Server } from 'node:http';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { ClientConnections } from './client-connections.ts';
import { pendingResponse } from './node-internals.ts';

const CLOSE_IDLE_EVERY_MS = 50;
/** How long a new connection may take to send its first byte. */
const FIRST_BYTE_TIMEOUT_MS = 250;
const TICKS_MAX = 1_000;

/**
 * Makes pending responses close their connections. Otherwise a client or load balancer might send its next call while the
 * connection closes, and not learn whether the call was handled.
 */
export function announceClose({ sockets }: ClientConnections): void {
  for (const socket of sockets) {
    const pending = pendingResponse(socket);
    if (pending?.headersSent !== false) continue;
    pending.shouldKeepAlive = false;
    pending.removeHeader('Keep-Alive');
  }
}

/** Waits until no connection is in the backlog. Those that are there when listening ends are reset. */
export async function waitForIdleBacklog(server: Server): Promise<void> {
  let hasAccepted = true;
  const onConnection = (): void => void (hasAccepted = true);
  server.on('connection', onConnection);
  for (let ticks = 0; hasAccepted && ticks < TICKS_MAX; ticks++) {
    hasAccepted = false;
    await nextTick();
  }
  server.off('connection', onConnection);
}

/** Stops accepting connections, waits for requests in progress, and destroys connections after `timeoutMs`. */
export async function closeServer(server: Server, connections: ClientConnections, timeoutMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // Browsers open connections in advance. Node does not count them as idle before their first byte.
  const firstByteTimer = setTimeout(() => {
    for (const socket of connections.sockets) if (socket.bytesRead === 0) socket.destroy();
  }, FIRST_BYTE_TIMEOUT_MS);
  // A connection whose last response is sent after `close` would otherwise stay open for its keep-alive time.
  const idleTimer = setInterval(() => {
    // After pending input is read: a connection with an unread request also looks idle.
    setImmediate(() => {
      server.closeIdleConnections();
    });
  }, CLOSE_IDLE_EVERY_MS);
  const deadlineTimer = setTimeout(() => {
    for (const socket of connections.sockets) socket.destroy();
  }, timeoutMs);
  await closed;
  clearTimeout(firstByteTimer);
  clearInterval(idleTimer);
  clearTimeout(deadlineTimer);
}
