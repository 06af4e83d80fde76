import { frame, holdWebSocket } from '../processes/web-socket.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Attack } from './attack.ts';

const SOCKETS = 4;
const SUBSCRIPTIONS = 120;
const ADDRESSES = 1_450;
const SUBSCRIBE_EVERY_MS = 50;

export const subscribedAddresses: Attack = {
  name: '696,000 addresses in subscriptions',
  sends: '4 WebSockets, each with 120 subscriptions to logs of 1,450 addresses of their own',
  bound: '50,000 addresses and topics of a key; each address counts against the key',
  seconds: 10,
  key: {},
  atLeast: { connections: SOCKETS, bytes: 20_000_000 },
  start(target, traffic) {
    let used = 0;
    const newAddress = (): string => `0x${(++used).toString(16).padStart(40, 'a')}`;
    for (let count = 0; count < SOCKETS; count++) {
      holdWebSocket(target, traffic, {
        reads: 'all',
        onOpen({ write }) {
          void subscribe();

          async function subscribe(): Promise<void> {
            for (let id = 1; id <= SUBSCRIPTIONS; id++) {
              const address = Array.from({ length: ADDRESSES }, newAddress);
              write(
                frame(
                  'text',
                  JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: ['logs', { address }] }),
                ),
              );
              await scenarioPause(SUBSCRIBE_EVERY_MS);
            }
          }
        },
      });
    }
  },
};
