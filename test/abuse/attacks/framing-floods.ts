import { startFramingNode, type FramingFlood } from '../processes/framing-node.ts';
import { sendInTurn } from '../processes/requests.ts';
import { hostileNetwork, SLOW_ACCOUNT, type Attack } from './attack.ts';

const CONNECTIONS = 32;

/** The attacker is the only upstream of another network, and calls it with its key. */
function framingFlood(flood: FramingFlood, name: string, sends: string): Attack {
  return {
    ...{ name, sends, seconds: 10, key: {} },
    isUpstream: ['http'],
    bound: '20 informational responses; 64 kB and 10 % of framing beyond a body; then the connection ends',
    atLeast: { connections: CONNECTIONS, bytes: 2_000_000 },
    start(target, traffic) {
      startFramingNode(target.upstreamPort, hostileNetwork.chainId, flood, traffic);
      const [, , , , key = ''] = target.socketPath.split('/');
      const hostile = { ...target, path: `/${hostileNetwork.slug}/v3/${key}` };
      let calls = 0;
      const body = (): string => {
        const data = `0x${(++calls).toString(16).padStart(8, '0')}`;
        const params = [{ to: SLOW_ACCOUNT, data }, 'latest'];
        return JSON.stringify({ jsonrpc: '2.0', id: calls, method: 'eth_call', params });
      };
      for (let connection = 0; connection < CONNECTIONS; connection++)
        void sendInTurn({ target: hostile, traffic, body, everyMs: 100 });
    },
  };
}

export const framingFloods: readonly Attack[] = [
  framingFlood(
    'informational',
    'upstream: endless informational responses',
    'an upstream of another network returns 103 without end to each of 32 calls',
  ),
  framingFlood(
    'extension',
    'upstream: endless chunk extension',
    'an upstream of another network returns a chunk with an extension without end to each of 32 calls',
  ),
];
