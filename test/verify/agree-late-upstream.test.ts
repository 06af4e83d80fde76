import { expect, it } from 'vitest';
import { account, simulateNetwork } from './simulated-network.ts';

const BLOCK_MS = 2_000;
const AGREE = { verify: { agree: { eth_call: 2 } } };
const params = [{ to: account }, 'latest'];

it.each([0, 1_000, 1_900, 5_000])(
  'upstreams of which one is %i ms late agree on the newest block of both',
  async (lateMs) => {
    const { call, time, head } = simulateNetwork([{}, { lateMs }], BLOCK_MS, AGREE);
    await call('eth_blockNumber');
    await time.advance(5_000);
    for (let count = 0; count < 60; count++) {
      await time.advance(137);
      const newest = head();
      const { result, error } = await call('eth_call', params);
      expect(error).toBeUndefined();
      // Each upstream is polled once in a block time, and may be polled right before its next block.
      expect((newest - Number(result)) * BLOCK_MS).toBeLessThanOrEqual(lateMs + 3 * BLOCK_MS);
    }
  },
);

it('an upstream that is stuck makes the result not older: it is an error', async () => {
  const { call, time } = simulateNetwork([{}, { stuckAt: 1_002 }], BLOCK_MS, AGREE);
  await call('eth_blockNumber');
  await time.advance(600_000);
  expect((await call('eth_call', params)).error?.message).toContain('only one upstream returned a result');
});
