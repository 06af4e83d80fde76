import { codeBatch } from '../processes/requests.ts';
import { frame, holdWebSocket } from '../processes/web-socket.ts';
import type { Attack } from './attack.ts';

const SOCKETS = 40;
const ITEMS = 24;

export const unreadWebSockets: Attack = {
  name: 'WebSockets that read nothing',
  sends: '40 WebSockets, each with one batch of 24 `eth_getCode` of 0.9 MB, and a pong every second',
  bound: 'unread frames count in the memory budget; a key has a share of it',
  seconds: 10,
  key: {},
  atLeast: { connections: SOCKETS, bytes: SOCKETS * 2_500 },
  start(target, traffic) {
    const batch = frame('text', codeBatch(ITEMS));
    for (let count = 0; count < SOCKETS; count++) {
      holdWebSocket(target, traffic, { reads: 'none', onOpen: ({ write }) => void write(batch) });
    }
  },
};
