import { codeBatch, rawPost } from '../processes/requests.ts';
import { holdOpen, type RawConnection } from '../processes/raw-connection.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 5;
const ITEMS = 24;

export const slowReaders: Attack = {
  name: 'slow readers',
  sends: '13 kB: 5 batches of 24 `eth_getCode` of 0.9 MB; 64 kB of each response are read per second',
  bound: 'unread bytes count against the key; a response has a minimum speed',
  seconds: 30,
  key: { rate: 1, burst: 200 },
  atLeast: { connections: CONNECTIONS, bytes: CONNECTIONS * 2_500 },
  start(target, traffic) {
    const request = rawPost(target.path, codeBatch(ITEMS));
    for (let count = 0; count < CONNECTIONS; count++) {
      holdOpen(target, traffic, {
        reads: 'none',
        onOpen(connection) {
          connection.write(request);
          void readSlowly(connection);
        },
      });
    }
  },
};

/** Takes what Node has read, at most 64 kB, and lets it read as much again: enough for TCP to report progress. */
async function readSlowly({ socket }: RawConnection): Promise<void> {
  while (!socket.destroyed) {
    socket.read();
    await scenarioPause(1_000);
  }
}
