import { startFrameFloodNode, startFramingNode } from '../processes/framing-node.ts';
import { sendInTurn } from '../processes/requests.ts';
import type { Traffic } from '../processes/traffic.ts';
import { hostileNetwork, SLOW_ACCOUNT, type Attack } from './attack.ts';

const CONNECTIONS = 32;
const HTTP_BOUND = '20 informational responses; 64 kB and 10 % of framing beyond a body; then the connection ends';
const WEBSOCKET_BOUND =
  '64 kB and 10 % of frames beyond messages; pings count as notifications; then there is no connection for 30 s';

type StartNode = (port: number, chainId: number, traffic: Traffic) => void;

/** The attacker is the only upstream of another network, and calls it with its key. */
function framingFlood(
  named: Pick<Attack, 'name' | 'sends'>,
  transport: 'http' | 'websocket',
  bytes: number,
  startNode: StartNode,
): Attack {
  return {
    ...{ ...named, seconds: 10, key: {} },
    isUpstream: [transport],
    bound: transport === 'http' ? HTTP_BOUND : WEBSOCKET_BOUND,
    atLeast: { connections: CONNECTIONS, bytes },
    start(target, traffic) {
      startNode(target.upstreamPort, hostileNetwork.chainId, traffic);
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

function overHttp(flood: 'informational' | 'extension', name: string, sends: string): Attack {
  return framingFlood({ name, sends }, 'http', 2_000_000, (port, chainId, traffic) => {
    startFramingNode(port, chainId, flood, traffic);
  });
}

export const framingFloods: readonly Attack[] = [
  overHttp(
    'informational',
    'upstream: endless informational responses',
    'an upstream of another network returns 103 without end to each of 32 calls',
  ),
  overHttp(
    'extension',
    'upstream: endless chunk extension',
    'an upstream of another network returns a chunk with an extension without end to each of 32 calls',
  ),
  {
    ...framingFlood(
      {
        name: 'upstream: endless empty frames',
        sends:
          'an upstream of another network sends pings, pongs and empty fragments without end over its WebSocket, to each of 32 calls',
      },
      'websocket',
      // The connection ends after 64 kB, and is not opened again for 30 s.
      60_000,
      startFrameFloodNode,
    ),
    isUnmeasured: true,
  },
];
