import { writeRepeatedly } from '../processes/raw-connection.ts';
import { frame, holdWebSocket } from '../processes/web-socket.ts';
import type { Attack } from './attack.ts';

const SOCKETS = 8;
const PINGS_PER_WRITE = 500;

export const pingFlood: Attack = {
  name: 'WebSocket pings',
  sends: '8 WebSockets, 4 of which read nothing, with as many pings of 125 bytes as they can send',
  bound: 'pongs count as unread bytes; control frames have a rate',
  seconds: 6,
  key: {},
  atLeast: { connections: SOCKETS, bytes: 500_000 },
  start(target, traffic) {
    const ping = frame('ping', 'x'.repeat(125));
    const pings = Buffer.concat(Array.from({ length: PINGS_PER_WRITE }, () => ping));
    for (let count = 0; count < SOCKETS; count++) {
      const reads = count % 2 === 0 ? 'all' : 'none';
      holdWebSocket(target, traffic, {
        reads,
        onOpen(connection) {
          writeRepeatedly(connection, pings, Infinity);
        },
      });
    }
  },
};
