import { sendInTurn } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const LOOPS = 8;
const MEMBERS = 190_000;
const BROKEN_BYTES = 4_900_000;

export const manyMembers: Attack = {
  name: 'bodies of 190,000 members, and broken ones',
  sends:
    '16 connections of a key with `rate: 1`: 8 send calls with 190,000 members of an object, 8 send 4.9 MB that are not JSON',
  bound:
    '20,000 members of a call; a large body of an exhausted key is not parsed; a rejected body costs units and event-loop time',
  seconds: 6,
  key: { rate: 1 },
  atLeast: { connections: 2 * LOOPS, bytes: 10_000_000 },
  start(target, traffic) {
    const members = Array.from({ length: MEMBERS }, (_, index) => `"k${index}":1`).join(',');
    const large = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{${members}}]}`;
    const broken = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["${'a'.repeat(BROKEN_BYTES)}`;
    for (const text of [large, broken]) {
      for (let loop = 0; loop < LOOPS; loop++) void sendInTurn({ target, traffic, body: () => text, everyMs: 0 });
    }
  },
};
