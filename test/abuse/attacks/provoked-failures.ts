import { sendInTurn } from '../processes/requests.ts';
import { FAILING_ACCOUNT, failuresOfUpstream, type Attack } from './attack.ts';

const LOOPS = 4;

export const provokedFailures: Attack = {
  name: 'calls that the upstream answers with HTTP 429, 403, 500, a closed connection, or a text of the caller',
  sends:
    '4 connections of a key, one `eth_call` after the other; the upstream requests a pause of 600 s for one of them',
  bound:
    'failures that one caller can cause count once in a row, and again only if another upstream serves the call; texts of contracts set no time',
  seconds: 6,
  key: {},
  atLeast: { connections: LOOPS, bytes: 5_000 },
  start(target, traffic) {
    let calls = 0;
    const body = (): string => {
      const data = `0x${(calls++ % failuresOfUpstream.length).toString(16).padStart(8, '0')}`;
      const call = { to: FAILING_ACCOUNT, data, value: `0x${calls.toString(16)}` };
      return JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'eth_call', params: [call, 'latest'] });
    };
    for (let loop = 0; loop < LOOPS; loop++) void sendInTurn({ target, traffic, body, everyMs: 0 });
  },
};
