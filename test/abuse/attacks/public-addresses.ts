import { Agent } from 'node:http';
import { newCall, post } from '../processes/requests.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Traffic } from '../processes/traffic.ts';
import type { Attack, Target } from './attack.ts';

const ADDRESSES = 10_000;
const ROUND_MS = 10_000;
/** Requests are sent in groups, as many as are due. */
const GROUP_MS = 20;
const GREEDY_CONNECTIONS = 16;
const share = { rate: 0.5, burst: 2 };

/** Call that needs no upstream, so that the gateway itself is measured. */
const localCall = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';

export const publicAddresses: Attack = {
  name: '10,000 addresses of a network without keys',
  sends:
    '10,000 client addresses of a network with `public`, each with a connection and a call every 10 s, and one with 16 connections, each with a lookup as soon as it has the response to the last one',
  bound: 'each address has its own share of the rate; all together have the slots and the event-loop time of one key',
  seconds: 12,
  key: undefined,
  public: share,
  atLeast: { connections: ADDRESSES / 4, bytes: 100_000 },
  start(target, traffic) {
    void sendFromAll(target, traffic);
    sendGreedily(target, traffic);
  },
};

/** Each address is within its share. Never ends. */
async function sendFromAll(target: Target, traffic: Traffic): Promise<void> {
  const agent = new Agent({ keepAlive: false });
  const startedAt = performance.now();
  let sent = 0;
  for (;;) {
    for (; sent < ((performance.now() - startedAt) * ADDRESSES) / ROUND_MS; sent++) {
      const index = sent % ADDRESSES;
      // Linux accepts all addresses of 127.0.0.0/8.
      const localAddress = `127.2.${index >> 8}.${index & 255}`;
      traffic.opened();
      traffic.sent(localCall.length);
      void post({ ...target, localAddress }, agent, localCall).then((status) => {
        traffic.received(status);
        if (status === '429') traffic.violation('an address within its share is 429');
      });
    }
    await scenarioPause(GROUP_MS);
  }
}

function sendGreedily(target: Target, traffic: Traffic): void {
  const startedAt = performance.now();
  let served = 0;
  const send = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    traffic.opened();
    for (;;) {
      const body = newCall();
      traffic.sent(body.length);
      const status = await post(target, agent, body);
      traffic.received(status);
      if (status === '200') served++;
      const allowed = share.burst + share.rate * ((performance.now() - startedAt) / 1_000) + 1;
      if (served > allowed) traffic.violation(`${served} calls of one address are served, of ${Math.floor(allowed)}`);
      await scenarioPause(1);
    }
  };
  for (let connection = 0; connection < GREEDY_CONNECTIONS; connection++) void send();
}
