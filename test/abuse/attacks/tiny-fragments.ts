import { holdWebSocket } from '../processes/web-socket.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack } from './attack.ts';

const SOCKETS = 1_000;
const OPENED_AT_ONCE = 5;
const OPEN_EVERY_MS = 20;
const FRAGMENTS = 4_090;

export const tinyFragments: Attack = {
  name: 'WebSocket fragments of one byte',
  sends: '1,000 WebSockets of a key with `rate: 1`, each with an unfinished message of 4,090 fragments of one byte',
  bound: 'small fragments are joined; at most 4,096 in a message; its bytes count against the key',
  seconds: 12,
  key: { rate: 1 },
  atLeast: { connections: SOCKETS / 2, bytes: (SOCKETS / 2) * FRAGMENTS * 7 },
  start(target, traffic) {
    // Their masks are zero, which does not change the payload.
    const [first, next] = [0x01, 0x00].map((start) => Buffer.from([start, 0x81, 0, 0, 0, 0, 0x31])) as [Buffer, Buffer];
    const fragments = Buffer.concat([first, ...Array.from({ length: FRAGMENTS - 1 }, () => next)]);
    void openAll();

    async function openAll(): Promise<void> {
      for (let count = 0; count < SOCKETS; count++) {
        holdWebSocket(target, traffic, { reads: 'all', onOpen: ({ write }) => void write(fragments) });
        if (count % OPENED_AT_ONCE === 0) await scenarioPause(OPEN_EVERY_MS);
      }
    }
  },
};
