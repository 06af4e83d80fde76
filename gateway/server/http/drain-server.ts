import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';

const CLOSE_IDLE_EVERY_MS = 50;
/** For the first bytes of a connection that was taken just before. */
const FIRST_BYTE_TIMEOUT_MS = 250;
const TICKS_MAX = 1_000;

/** A connection as Node's own handlers know it: with the response that is due next. */
export type ServerConnection = Duplex & { readonly _httpMessage?: ServerResponse | null };

/**
 * The answers under way say that they are the last on their connections: otherwise a caller, or a balancer, might send
 * the next call just when the connection is closed, and never know what became of it.
 */
export function announceClose(sockets: Iterable<ServerConnection>): void {
  for (const { _httpMessage: due } of sockets) if (due?.headersSent === false) due.setHeader('Connection', 'close');
}

/** Waits for a moment in which no connection is waiting to be taken: those that are when listening ends are reset. */
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

/** Takes no more connections, lets requests under way end, and breaks off those that take longer. */
export async function closeServer(server: Server, sockets: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // Not idle to Node: connections that a browser opened in advance, on which nothing came yet.
  const silenceTimer = setTimeout(() => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, FIRST_BYTE_TIMEOUT_MS);
  // A connection whose last answer went out after `close` would otherwise stay for its keep-alive time.
  const idle = setInterval(() => {
    // Once what has come was read: a connection may look idle only because of it.
    setImmediate(() => {
      server.closeIdleConnections();
    });
  }, CLOSE_IDLE_EVERY_MS);
  const limit = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, timeoutMs);
  await closed;
  clearTimeout(silenceTimer);
  clearInterval(idle);
  clearTimeout(limit);
}
