import { newCall, newSlowCall, sendInTurn } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

/** Connections: as many as a key may have in flight. */
const CONNECTIONS = 256;
/** Calls of each connection before its slow call: 1,280 in all, so that the key is alone between two calls of the neighbour. */
const QUICK_CALLS = 5;

export const slowCalls: Attack = {
  name: 'slow calls in all slots of an upstream',
  sends:
    '256 connections of one key, each in turn with 5 lookups and an `eth_call` of 9 s; the other caller pauses for 3 s after each request',
  bound: 'a key has at most 7 of 8 slots of an upstream, even while no other key calls',
  seconds: 15,
  neighbourPauseMs: 3_000,
  key: {},
  atLeast: { connections: CONNECTIONS, bytes: 200_000 },
  start(target, traffic) {
    for (let connection = 0; connection < CONNECTIONS; connection++) {
      let calls = 0;
      const body = (): string => (calls++ % (QUICK_CALLS + 1) < QUICK_CALLS ? newCall() : newSlowCall());
      void sendInTurn({ target, traffic, body, everyMs: 0 });
    }
  },
};
