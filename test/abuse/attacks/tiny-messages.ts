import { writeRepeatedly } from '../processes/raw-connection.ts';
import { frame, holdWebSocket } from '../processes/web-socket.ts';
import type { Attack } from './attack.ts';

const SOCKETS = 64;
const BYTES_PER_WRITE = 65_536;
const PAYLOADS = ['', '{}', '{"jsonrpc":"2.0","method":"x"}'];

export const tinyMessages: Attack = {
  name: 'tiny WebSocket messages',
  sends:
    '64 WebSockets of a key with `rate: 1`, with as many messages as they can send: empty, `{}`, or a notification',
  bound: 'frames have a budget of time per turn; a socket whose messages are rejected over and over is read slowly',
  seconds: 6,
  key: { rate: 1 },
  atLeast: { connections: SOCKETS, bytes: 1_000_000 },
  start(target, traffic) {
    for (let count = 0; count < SOCKETS; count++) {
      const message = frame('text', PAYLOADS[count % PAYLOADS.length] as string);
      const messages = Buffer.concat(Array.from({ length: BYTES_PER_WRITE / message.length }, () => message));
      holdWebSocket(target, traffic, {
        reads: 'all',
        onOpen(connection) {
          writeRepeatedly(connection, messages, Infinity);
        },
      });
    }
  },
};
