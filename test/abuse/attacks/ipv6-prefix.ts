import { Agent } from 'node:http';
import { post } from '../processes/requests.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import type { Traffic } from '../processes/traffic.ts';
import type { Attack, Target } from './attack.ts';

const CONNECTIONS = 24;
/** Networks /48 of a /44. */
const WIDE_NETWORKS = 16;
const OTHERS_INTERVAL_MS = 100;

/** Call that needs no upstream, so that the gateway itself is measured. */
const localCall = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';

export const ipv6Prefix: Attack = {
  name: 'all addresses of a /44 of IPv6',
  sends:
    'through a trusted proxy, 24 connections to a network with `public` and `daily`, each call from another /64 of the 16 networks /48 of one customer, and ten calls a second from new IPv4 addresses',
  bound:
    'a /48 has the limits of 16 addresses; IPv4 addresses have places of their own, and accounts that used little make place',
  seconds: 12,
  key: undefined,
  public: { rate: 10, burst: 50, daily: 100_000 },
  isProxy: true,
  atLeast: { connections: CONNECTIONS, bytes: 100_000 },
  start(target, traffic) {
    let sent = 0;
    for (let connection = 0; connection < CONNECTIONS; connection++)
      void sendFrom(target, traffic, 1, () => {
        const network = Math.floor(sent / WIDE_NETWORKS) & 0xffff;
        return `2001:db8:${(sent++ % WIDE_NETWORKS).toString(16)}:${network.toString(16)}::1`;
      });
    let others = 0;
    void sendFrom(
      target,
      traffic,
      OTHERS_INTERVAL_MS,
      () => `198.51.${others >> 8}.${others++ & 255}`,
      (status) => {
        if (status === '429') traffic.violation('an IPv4 address is 429 at its first call');
      },
    );
  },
};

/** Each call from another address. Never ends. */
async function sendFrom(
  target: Target,
  traffic: Traffic,
  pauseMs: number,
  address: () => string,
  onStatus?: (status: string) => void,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  traffic.opened();
  for (;;) {
    traffic.sent(localCall.length);
    const status = await post(target, agent, localCall, { 'x-forwarded-for': address() });
    traffic.received(status);
    onStatus?.(status);
    await scenarioPause(pauseMs);
  }
}
