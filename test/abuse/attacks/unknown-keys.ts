import { makeKey } from '../../../gateway/auth/formats/key.ts';
import { newCall, sendInTurn } from '../processes/requests.ts';
import type { Attack } from './attack.ts';

const LOOPS = 16;

export const unknownKeys: Attack = {
  name: 'guessed keys',
  sends: '16 connections, each with a call with another unknown key as soon as one is rejected',
  bound: 'after 500 an unknown key is 429, and 8 lookups of such addresses are in progress at a time',
  seconds: 6,
  key: undefined,
  atLeast: { connections: LOOPS, bytes: 100_000 },
  start(target, traffic) {
    const [network] = target.path.split('/v3/');
    const onStatus = (status: string): void => {
      if (status !== '401' && status !== '429') traffic.violation(`an unknown key is ${status}`);
    };
    const guessing = {
      ...target,
      // Read for each request.
      get path() {
        return `${network}/v3/${makeKey()}`;
      },
    };
    for (let loop = 0; loop < LOOPS; loop++) {
      void sendInTurn({ target: guessing, traffic, body: newCall, everyMs: 0, onStatus });
    }
  },
};
