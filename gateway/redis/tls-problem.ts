import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { RedisAddress } from './url.ts';

/**
 * Finds out whether a server that did not respond uses TLS where the URL does not, or the reverse: each waits for the other.
 * @param timeoutMs limit for one connection to the first host of the address
 * @returns the problem; undefined if it is another one
 */
export async function tlsProblem(
  { host, port, tls, sentinels, cluster }: RedisAddress,
  timeoutMs: number,
): Promise<string | undefined> {
  const [server] = sentinels ?? cluster ?? [{ host, port }];
  if (server?.host === undefined || server.port === undefined) return undefined;
  const to = { host: server.host, port: server.port, timeout: timeoutMs };
  if (tls === undefined) {
    const isTls = await outcomeOf(connectTls({ ...to, rejectUnauthorized: false }), 'secureConnect');
    return isTls ? 'the server expects TLS: write rediss:// for redis://' : undefined;
  }
  const socket = connectPlain(to, () => socket.write('PING\r\n'));
  // Redis responds with +PONG, or with -NOAUTH.
  const isPlain = await outcomeOf(socket, 'data', (data) => /^[+-]/.test(data));
  return isPlain
    ? 'the server does not use TLS at this port: write redis:// for rediss://, or its TLS port'
    : undefined;
}

/** Whether a socket emits the event before it fails, ends or is idle for its timeout. Closes it. */
async function outcomeOf(
  socket: Socket,
  event: string,
  isExpected = (_data: string): boolean => true,
): Promise<boolean> {
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once(event, (data: unknown) => {
        resolve(isExpected(String(data)));
      });
      for (const end of ['error', 'timeout', 'close']) {
        socket.once(end, () => {
          resolve(false);
        });
      }
    });
  } finally {
    socket.destroy();
  }
}
