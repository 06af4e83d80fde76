import { newSlowCall, sendInTurn } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 90;

export const filledNode: Attack = {
  name: 'slow calls that fill a node',
  sends:
    '90 connections of one key, each with one `eth_call` of 9 s after the other; the upstream works on 64 calls at once; the other caller pauses for 4 s after each request, and counts after 10 s',
  bound:
    'the calls that an upstream works on are found within 10 s; a call that runs code is sent only if half of its time is left',
  seconds: 20,
  neighbourPauseMs: 4_000,
  learningSeconds: 10,
  key: {},
  upstreamPlaces: 64,
  atLeast: { connections: CONNECTIONS, bytes: 30_000 },
  start(target, traffic) {
    for (let connection = 0; connection < CONNECTIONS; connection++)
      void sendInTurn({ target, traffic, body: newSlowCall, everyMs: 0 });
  },
};
