import { connect, type Socket } from 'node:net';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Target } from '../attacks/attack.ts';
import type { Traffic } from './traffic.ts';

/** How long an attacker waits before it opens a connection again that was closed. */
const REOPEN_MS = 500;
/** How often an attacker that reads nothing writes a line break, to learn that its connection is closed. */
const NUDGE_MS = 1_000;

export interface ConnectionOptions {
  /** Port of the calls or, for the admin API, of OPS_PORT. */
  readonly port?: number;
  /** `all`: as it arrives. `none`: never, so that the bytes remain in the gateway. */
  readonly reads: 'all' | 'none';
  /** Written every second in `reads: 'none'`. Default: a line break, which HTTP ignores between requests. */
  readonly nudge?: string | Buffer;
  /** Whether the connection is opened again after it was closed. Default: yes. */
  readonly reopens?: boolean;
  onOpen(connection: RawConnection): void;
  /** Bytes as latin1. */
  onText?(text: string): void;
  onClose?(): void;
}

/** One TCP connection to the gateway. */
export interface RawConnection {
  readonly socket: Socket;
  /** Writes unless the connection is closed. @returns whether more may be written at once */
  readonly write: (bytes: string | Buffer) => boolean;
}

/** Opens a connection, and opens it again when it is closed. */
export function holdOpen(target: Target, traffic: Traffic, options: ConnectionOptions): void {
  const socket = connect({
    host: '127.0.0.1',
    port: options.port ?? target.port,
    localAddress: target.localAddress,
    noDelay: true,
  });
  const write = (bytes: string | Buffer): boolean => {
    if (!socket.writable) return false;
    traffic.sent(bytes.length);
    return socket.write(bytes);
  };
  socket.on('error', () => socket.destroy());
  if (options.reads === 'none') socket.pause();
  else {
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      for (const [, status = ''] of text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)) {
        // Those of the admin API separately: there, 401 is expected.
        traffic.received(options.port === undefined ? status : `ops ${status}`);
      }
      options.onText?.(text);
    });
  }
  socket.once('connect', () => {
    traffic.opened();
    options.onOpen({ socket, write });
    if (options.reads === 'none') void nudge(socket, options.nudge ?? '\r\n');
  });
  socket.once('close', () => {
    options.onClose?.();
    if (options.reopens !== false)
      void scenarioPause(REOPEN_MS).then(() => {
        holdOpen(target, traffic, options);
      });
  });
}

async function nudge(socket: Socket, bytes: string | Buffer): Promise<void> {
  while (!socket.destroyed) {
    await scenarioPause(NUDGE_MS);
    socket.write(bytes);
  }
}

/** Writes the same bytes as often as the gateway reads them. @param times Infinity: until the connection is closed */
export function writeRepeatedly(
  { socket, write }: RawConnection,
  bytes: string | Buffer,
  times: number,
  then?: () => void,
): void {
  let left = times;
  const next = (): void => {
    while (left-- > 0) if (!write(bytes)) return;
    socket.off('drain', next);
    then?.();
  };
  socket.on('drain', next);
  next();
}

/** Sends bytes on a connection of their own. @returns what was received until the end, or until `patienceMs` have passed */
export function exchange(
  target: Target,
  traffic: Traffic,
  text: string,
  patienceMs: number,
): Promise<{ received: string; isClosed: boolean }> {
  let received = '';
  return new Promise((resolve) => {
    holdOpen(target, traffic, {
      reads: 'all',
      reopens: false,
      onOpen({ socket, write }) {
        write(Buffer.from(text, 'latin1'));
        void scenarioPause(patienceMs).then(() => {
          resolve({ received, isClosed: false });
          socket.destroy();
        });
      },
      onText: (part) => (received += part),
      onClose: () => {
        resolve({ received, isClosed: true });
      },
    });
  });
}
