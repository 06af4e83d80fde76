import { expect, it } from 'vitest';
import { account, simulateNetwork } from '../verify/simulated-network.ts';

const BLOCK_MS = 12_000;

it.each([1, 2])(
  'a caller who names a block that does not exist yet, which %i nodes ignore, changes nothing for others',
  async (count) => {
    const nodes = Array.from({ length: count }, () => ({ ignoresFuture: true }));
    const { call, time, head } = simulateNetwork(nodes, BLOCK_MS, {});
    await call('eth_blockNumber');
    await time.advance(20_000);
    for (const ahead of [1, 16, 1_000_000]) {
      const named = head() + ahead;
      expect((await call('eth_getBalance', [account, `0x${named.toString(16)}`])).error).toBeUndefined();
      const { result } = await call('eth_blockNumber');
      expect(Number(result)).toBeLessThanOrEqual(head());
      const block = (await call('eth_getBlockByNumber', ['latest', false])).result as { readonly number: string };
      expect(Number(block.number)).toBeLessThanOrEqual(head());
    }
  },
);
