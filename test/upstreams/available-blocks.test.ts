import { expect, it } from 'vitest';
import { AvailableBlocks } from '../../gateway/upstreams/available-blocks.ts';

const HEAD = 10_000n;
const block = (number: number) => ({ lowest: number, highest: number, readsState: true });

it('a reported missing block stays recorded when an older block is reported missing later', () => {
  const blocks = new AvailableBlocks(false);
  blocks.recordMissing('eth_call', block(500), HEAD, 0);
  blocks.recordMissing('eth_call', block(100), HEAD, 1_000);
  expect([100, 500, 501].map((number) => blocks.isMissing('eth_call', block(number), 2_000))).toEqual([
    true,
    true,
    false,
  ]);
  blocks.recordMissing('eth_call', block(700), HEAD, 3_000);
  expect(blocks.isMissing('eth_call', block(700), 4_000)).toBe(true);
  // After ten minutes the record expires, and the next error replaces it.
  expect(blocks.isMissing('eth_call', block(100), 700_000)).toBe(false);
  blocks.recordMissing('eth_call', block(100), HEAD, 700_000);
  expect([100, 500].map((number) => blocks.isMissing('eth_call', block(number), 700_001))).toEqual([true, false]);
});
