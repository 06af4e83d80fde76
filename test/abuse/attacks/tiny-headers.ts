import { holdOpen } from '../processes/raw-connection.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack } from './attack.ts';

const CONNECTIONS = 4_980;
const OPENED_AT_ONCE = 30;
const OPEN_EVERY_MS = 20;
const LINE = 'abc:d\r\n';
/** Node allows 16 kB. */
const LINES = Math.floor(16_250 / LINE.length) - 4;

export const tinyHeaders: Attack = {
  name: 'unfinished heads of tiny headers',
  sends: '4,980 connections, each with an unfinished head of 16 kB in lines of 7 bytes',
  bound: 'a head has at most 100 headers, and 10 s; `CONNECTIONS_MAX`',
  seconds: 20,
  key: undefined,
  atLeast: { connections: CONNECTIONS, bytes: CONNECTIONS * LINES * LINE.length },
  start(target, traffic) {
    const head = `GET / HTTP/1.1\r\nHost: a\r\n${LINE.repeat(LINES)}`;
    void openAll();

    async function openAll(): Promise<void> {
      for (let count = 0; count < CONNECTIONS; count++) {
        holdOpen(target, traffic, { reads: 'all', onOpen: ({ write }) => void write(head) });
        if (count % OPENED_AT_ONCE === 0) await scenarioPause(OPEN_EVERY_MS);
      }
    }
  },
};
