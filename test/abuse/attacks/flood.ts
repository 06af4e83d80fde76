import { newBatch, sendInTurn } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const LOOPS = 30;
const ITEMS = 50;
/** 30 batches of 50 in 468 ms are 3,200 calls per second: 2.5 times what the upstream serves. */
const EVERY_MS = 468;

export const flood: Attack = {
  name: '1,500 requests in flight',
  sends: '30 batches of 50 lookups at a time, 3,200 lookups per second; the upstream serves 1,280',
  bound: '`--concurrency` of the key; fair queueing over keys for upstream connections',
  seconds: 10,
  key: {},
  atLeast: { connections: LOOPS, bytes: 100_000 },
  start(target, traffic) {
    for (let loop = 0; loop < LOOPS; loop++) {
      void sendInTurn({ target, traffic, body: () => newBatch(ITEMS), everyMs: EVERY_MS });
    }
  },
};
