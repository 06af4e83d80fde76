import { sendInTurn } from '../processes/requests.ts';
import { startValuesNode } from '../processes/values-node.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { hostileNetwork, type Attack } from './attack.ts';

const ADDRESS = `0x${'17'.repeat(20)}`;
const HASH = `0x${'18'.repeat(32)}`;
/** Calls of every kind of method. @param position makes a call that differs from all others */
const calls: readonly ((position: string) => [string, readonly unknown[]])[] = [
  (position) => ['eth_getStorageAt', [ADDRESS, position, 'latest']],
  (position) => ['eth_call', [{ to: ADDRESS, data: `0x${position.slice(2).padStart(8, '0')}` }, 'latest']],
  (position) => ['eth_getLogs', [{ fromBlock: position, toBlock: position }]],
  (position) => ['eth_getBlockByHash', [`${HASH.slice(0, 50)}${position.slice(2).padStart(16, '0')}`, true]],
  () => ['eth_getTransactionReceipt', [HASH]],
  (position) => ['eth_getBlockReceipts', [position]],
  (position) => ['eth_feeHistory', ['0x4', position, []]],
  (position) => ['eth_simulateV1', [{ blockStateCalls: [{ calls: [{ to: ADDRESS, value: position }] }] }, 'latest']],
  (position) => ['debug_traceCall', [{ to: ADDRESS, value: position }, 'latest', {}]],
];

/** Calls in flight, each for a third of the time. */
const levels = [1, 4, 32] as const;
const SECONDS = 15;

/** The attacker is the only upstream of another network, and calls it with its key. */
export const manyValues: Attack = {
  name: 'upstream: very many values',
  sends:
    'an upstream of another network returns 30 MB of objects, lists, texts, numbers, names and levels: as results, in errors, beside them and in batches, to 1, 4 and 32 calls in flight, over HTTP and WebSocket; 256 MB of heap',
  bound: 'the values of a response are counted before they are parsed; what is large is checked in steps',
  ...{ seconds: SECONDS, key: {}, isUpstream: ['websocket', 'http'], heapMb: 256 },
  atLeast: { connections: 1, bytes: 100_000_000 },
  start(target, traffic) {
    startValuesNode(target.upstreamPort, hostileNetwork.chainId, traffic);
    const [, , , key = ''] = target.path.split('/');
    const path = `/${hostileNetwork.slug}/v3/${key}`;
    let count = 0;
    const one = (): string => {
      const id = ++count;
      const [method, params] = (calls[id % calls.length] as (typeof calls)[number])(`0x${id.toString(16)}`);
      return JSON.stringify({ jsonrpc: '2.0', id, method, params });
    };
    // Every seventh body is a batch of three.
    const body = (): string => (++count % 7 === 0 ? `[${[one(), one(), one()].join()}]` : one());
    const begin = async (): Promise<void> => {
      let started = 0;
      for (const level of levels) {
        for (; started < level; started++) void sendInTurn({ target: { ...target, path }, traffic, body, everyMs: 0 });
        await scenarioPause((SECONDS * 1_000) / levels.length);
      }
    };
    void begin();
  },
};
