import { describe, expect, it } from 'vitest';
import { account, simulateNetwork } from './simulated-network.ts';

const BLOCK_MS = 12_000;
/** As with many calls: the head is polled once in a block time. */
const MAX_AGE_BLOCKS = 1;
const IDLE_MS = [20_000, 60_000, 100_000, 300_000, 1_200_000];
const ofLatest = [{ to: account }, 'latest'] as const;

describe('a call for `latest` after a time without calls', () => {
  it.each([
    ['one upstream', [{}]],
    ['two upstreams', [{}, {}]],
    ['an upstream that is stuck', [{ stuckAt: 1_001 }, {}, {}]],
  ])('gets proven state of the newest block, with %s', async (_name, nodes) => {
    const { call, time, head, count } = simulateNetwork(nodes, BLOCK_MS, { verify: 'enforce' });
    await call('eth_getBalance', [account, 'latest']);
    for (const ms of IDLE_MS) {
      await time.advance(ms);
      const newest = head();
      const { result } = await call('eth_getBalance', [account, 'latest']);
      expect(newest - Number(result)).toBeLessThanOrEqual(MAX_AGE_BLOCKS);
    }
    expect(await count('proof')).toBe(1 + IDLE_MS.length);
  });

  it('gets a result of the newest block on which upstreams agree', async () => {
    const { call, time, head, count } = simulateNetwork([{}, {}], BLOCK_MS, { agree: { eth_call: 2 } });
    await call('eth_call', ofLatest);
    for (const ms of IDLE_MS) {
      await time.advance(ms);
      const newest = head();
      const { result } = await call('eth_call', ofLatest);
      expect(newest - Number(result)).toBeLessThanOrEqual(MAX_AGE_BLOCKS);
    }
    expect(await count('agreed')).toBe(1 + IDLE_MS.length);
  });

  it('gets the logs up to the newest block', async () => {
    const { call, time, head, requests } = simulateNetwork([{}, {}], BLOCK_MS, { verify: 'require' });
    await call('eth_blockNumber');
    await time.advance(600_000);
    const newest = head();
    const filter = { fromBlock: `0x${(newest - 5).toString(16)}`, toBlock: 'latest', address: account };
    expect((await call('eth_getLogs', [filter])).result).toEqual([]);
    const sent = requests.map(({ text }) => text).filter((text) => text.startsWith('eth_getLogs'));
    expect(sent).toEqual([expect.stringContaining(`"toBlock":"0x${newest.toString(16)}"`)]);
  });

  it.each([1, 2])('gets the proven number of the newest block, with %i upstreams', async (upstreams) => {
    const nodes = Array.from({ length: upstreams }, () => ({}));
    const { call, time, head } = simulateNetwork(nodes, BLOCK_MS, { verify: 'require' });
    await call('eth_blockNumber');
    for (const ms of IDLE_MS) {
      await time.advance(ms);
      const newest = head();
      const { result, error } = await call('eth_blockNumber');
      expect(error).toBeUndefined();
      expect(Number(result)).toBe(newest);
    }
  });

  it('is neither sent later nor the cause of further polls while there are many calls', async () => {
    const measure = async (verify: string): Promise<{ polls: number; maxWaitMs: number }> => {
      const { call, time, requests } = simulateNetwork([{}], BLOCK_MS, { verify });
      await call('eth_getBalance', [account, 'latest']);
      let maxWaitMs = 0;
      for (let count = 0; count < 300; count++) {
        const startedAt = time.now();
        await call('eth_getBalance', [account, 'latest']);
        const sent = requests.findLast(({ text }) => text.startsWith('eth_getBalance'));
        maxWaitMs = Math.max(maxWaitMs, (sent?.at ?? Infinity) - startedAt);
      }
      const polls = requests.filter(({ text }) => text === 'eth_getBlockByNumber ["latest",false]').length;
      return { polls, maxWaitMs };
    };
    expect(await measure('enforce')).toEqual(await measure('off'));
  });
});
