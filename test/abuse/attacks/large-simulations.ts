import { startHttpNode } from '../processes/http-node.ts';
import { sendInTurn } from '../processes/requests.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { hostileNetwork, type Attack } from './attack.ts';

const SIZES = [24_000_000, 31_000_000] as const;
const CALL_BYTES = 100_000;
/** Calls in flight, each for half of the time. */
const levels = [16, 32] as const;
const SECONDS = 10;

/** The result of a simulation of a contract that reverts with a text of the caller. */
function resultOf(bytes: number): Buffer {
  const call = {
    ...{ returnData: `0x${'08'.repeat(CALL_BYTES / 2)}`, logs: [], gasUsed: '0x5208', status: '0x0' },
    error: { code: 3, message: 'execution reverted' },
  };
  const first = { ...call, error: { code: 3, message: 'execution reverted: é' } };
  const calls = [first, ...Array.from({ length: Math.floor(bytes / (CALL_BYTES + 200)) - 1 }, () => call)];
  const block = { number: '0x1e8481', hash: `0x${'cd'.repeat(32)}`, timestamp: '0x66000000', gasUsed: '0x5208' };
  return Buffer.from(JSON.stringify([{ ...block, gasLimit: '0x1c9c380', baseFeePerGas: '0x0', calls }]));
}

/** The attacker is the only upstream of another network, and calls it with its key. */
export const largeSimulations: Attack = {
  name: 'large simulations with a text of the caller',
  sends:
    '16, then 32 connections of one key, each with one `eth_simulateV1` after the other, at most 4 per second, whose results of 24 and 31 MB have one character that is not ASCII',
  bound:
    'a large result is checked in steps, and those of one key one after the other; a key has a share of the memory',
  ...{ seconds: SECONDS, key: {}, isUpstream: ['http'], isUnmeasured: true },
  atLeast: { connections: levels[1], bytes: 100_000_000 },
  start(target, traffic) {
    const results = SIZES.map(resultOf);
    startHttpNode(target.upstreamPort, hostileNetwork.chainId, traffic, ({ id, method }) => [
      `{"jsonrpc":"2.0","id":${id},"result":`,
      (method === 'eth_simulateV1' && results[id % results.length]) || 'null',
      '}',
    ]);
    const [, , , key = ''] = target.path.split('/');
    const path = `/${hostileNetwork.slug}/v3/${key}`;
    let count = 0;
    const body = (): string => {
      const calls = [{ to: `0x${'17'.repeat(20)}`, value: `0x${(++count).toString(16)}` }];
      const params = [{ blockStateCalls: [{ calls }] }, 'latest'];
      return JSON.stringify({ jsonrpc: '2.0', id: count, method: 'eth_simulateV1', params });
    };
    const begin = async (): Promise<void> => {
      let started = 0;
      for (const level of levels) {
        for (; started < level; started++)
          void sendInTurn({ target: { ...target, path }, traffic, body, everyMs: 250 });
        await scenarioPause((SECONDS * 1_000) / levels.length);
      }
    };
    void begin();
  },
};
