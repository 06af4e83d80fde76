import { frame, holdWebSocket } from '../processes/web-socket.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack } from './attack.ts';

const SOCKETS = 10;
const PER_SOCKET = 999;
const PER_MESSAGE = 111;
const MESSAGE_EVERY_MS = 50;

/** Each matches all logs by a topic of its own, beside one that they have. */
const call = (id: number): object => {
  const topics = [[`0x${id.toString(16).padStart(64, '0')}`, `0x${'d'.repeat(64)}`]];
  return { jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['logs', { topics }] };
};

export const manySubscriptions: Attack = {
  name: '9,990 log subscriptions',
  sends:
    '10 WebSockets, each with 999 subscriptions to logs with different filters; a block with 200 logs comes every second',
  bound: 'notifications leave in turns of the event loop, for each key apart',
  seconds: 15,
  key: {},
  logsPerBlock: 200,
  atLeast: { connections: SOCKETS, bytes: SOCKETS * PER_SOCKET * 200 },
  start(target, traffic) {
    let calls = 0;
    for (let count = 0; count < SOCKETS; count++) {
      holdWebSocket(target, traffic, {
        reads: 'all',
        onOpen({ write }) {
          void subscribe();

          async function subscribe(): Promise<void> {
            for (let sent = 0; sent < PER_SOCKET; sent += PER_MESSAGE) {
              write(frame('text', JSON.stringify(Array.from({ length: PER_MESSAGE }, () => call(++calls)))));
              await scenarioPause(MESSAGE_EVERY_MS);
            }
          }
        },
      });
    }
  },
};
