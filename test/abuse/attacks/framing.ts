import { newCall, rawPost } from '../processes/requests.ts';
import { exchange } from '../processes/raw-connection.ts';
import { framingCases } from './framing-cases.ts';
import type { Attack, Target } from './attack.ts';
import type { Traffic } from '../processes/traffic.ts';

const CONNECTIONS = 8;
/** Time longer than Gatehouse needs to reject. */
const PATIENCE_MS = 2_000;

/** @param statuses that are permitted */
const framingWith = (statuses: readonly string[]): Attack => ({
  name: 'ambiguous HTTP framing',
  sends: `8 connections at a time with ${framingCases.length} kinds of requests that two HTTP parsers read differently`,
  bound: '400 and the connection is closed; nothing after the first request is served',
  seconds: 6,
  key: {},
  atLeast: { connections: framingCases.length, bytes: 2_000 },
  start(target, traffic) {
    for (let count = 0; count < CONNECTIONS; count++) void sendInTurn(target, traffic, count, statuses);
  },
});

export const framing = framingWith(['400']);
/** Attack with a key whose rate other attacks use up: its limit rejects before the body. */
export const framingBesideOthers = framingWith(['400', '429']);

/** Each connection starts with another case. */
async function sendInTurn(
  target: Target,
  traffic: Traffic,
  first: number,
  permitted: readonly string[],
): Promise<void> {
  for (let turn = first; ; turn++) {
    const framingCase = framingCases[turn % framingCases.length];
    if (framingCase === undefined) return;
    const text = framingCase.text(target.path, newCall());
    const { received, isClosed } = await exchange(target, traffic, text + rawPost(target.path, newCall()), PATIENCE_MS);
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status);
    // A gateway that is too busy for a response is measured by the neighbour.
    if (received === '') traffic.received('none');
    else if (!permitted.includes(statuses.join()) || !isClosed) {
      traffic.violation(`${framingCase.name}: ${statuses.join(', ')}, ${isClosed ? 'closed' : 'open'}`);
    }
  }
}
