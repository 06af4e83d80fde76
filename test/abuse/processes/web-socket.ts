import { randomBytes } from 'node:crypto';
import type { Target } from '../attacks/attack.ts';
import { holdOpen, type ConnectionOptions, type RawConnection } from './raw-connection.ts';
import type { Traffic } from './traffic.ts';

/** An unsolicited pong, which keeps a WebSocket open that reads nothing. */
export const pongFrame = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

/** A frame of up to 65,535 bytes. Its mask is zero, which does not change the payload. */
export function frame(opcode: 'text' | 'ping', payload: string): Buffer {
  const bytes = Buffer.from(payload);
  const first = opcode === 'text' ? 0x81 : 0x89;
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0x80 | 126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), bytes]);
}

/** Opens a WebSocket, and opens it again when it is closed. `onOpen` is called after the upgrade. */
export function holdWebSocket(
  target: Target,
  traffic: Traffic,
  { reads, onOpen }: { reads: 'all' | 'none'; onOpen: (connection: RawConnection) => void },
): void {
  const options: ConnectionOptions = {
    reads,
    nudge: pongFrame,
    onOpen(connection) {
      const { socket, write } = connection;
      // The response to the upgrade is read also by a client that reads nothing afterwards.
      socket.once('data', (bytes: Buffer) => {
        if (!bytes.toString('latin1').startsWith('HTTP/1.1 101')) return;
        if (reads === 'none') socket.pause();
        onOpen(connection);
      });
      socket.resume();
      write(
        `GET ${target.socketPath} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
      );
    },
  };
  holdOpen(target, traffic, options);
}
