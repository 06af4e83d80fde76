import { WebSocket } from 'ws';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { startHostileNode, type Flood } from '../processes/hostile-node.ts';
import { hostileNetwork, type Attack } from './attack.ts';

const RESUBSCRIBE_MS = 1_000;

/** The attacker is the only upstream of another network, and subscribes to it with its key. */
function hostileUpstream(flood: Flood, name: string, sends: string, bound: string, bytes = 2_000_000): Attack {
  return {
    ...{ name, sends, bound, seconds: 10, key: {} },
    isUpstream: ['websocket'],
    atLeast: { connections: 1, bytes },
    start(target, traffic) {
      startHostileNode(target.upstreamPort, hostileNetwork.chainId, flood, traffic);
      const [, , , , key] = target.socketPath.split('/');
      const kind = flood === 'long-hashes' ? 'newPendingTransactions' : 'newHeads';
      const subscribe = (): void => {
        const url = `ws://127.0.0.1:${target.port}/${hostileNetwork.slug}/ws/v3/${key ?? ''}`;
        const socket = new WebSocket(url, { localAddress: target.localAddress });
        socket.on('open', () => {
          socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: [kind] }));
        });
        socket.on('error', () => undefined);
        socket.on('close', () => void scenarioPause(RESUBSCRIBE_MS).then(subscribe));
      };
      subscribe();
    },
  };
}

export const hostileUpstreams: readonly Attack[] = [
  hostileUpstream(
    'fat-heads',
    'upstream: fat heads',
    'an upstream of another network sends heads with 2 MB of `extraData`, 40 per second',
    'length of a notification and of a header; bytes of notifications per second',
  ),
  hostileUpstream(
    'fat-blocks',
    'upstream: fat blocks',
    'an upstream of another network returns a latest block of 25 MB to each poll',
    '4 MB for responses to the gateway itself',
  ),
  hostileUpstream(
    'long-hashes',
    'upstream: long hashes',
    'an upstream of another network sends pending transaction hashes of 200 kB, as many as it can',
    'a hash has 32 bytes; bytes of notifications per second',
  ),
  hostileUpstream(
    'early-notifications',
    'upstream: early notifications',
    'an upstream of another network sends notifications of 100 kB before its response to `eth_subscribe`, as many as it can',
    '1 MB of notifications before the response; bytes of notifications per second',
  ),
  hostileUpstream(
    'heads',
    'upstream: many heads',
    'an upstream of another network sends new heads, as many as it can',
    'bytes and number of notifications per second',
    // The connection ends after 1,000 heads, and is not opened again for 30 s.
    700_000,
  ),
];
