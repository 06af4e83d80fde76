import { expect, it } from 'vitest';
import { AvailableBlocks } from '../../gateway/upstreams/available-blocks.ts';

const HEAD = 10_000n;
const block = (number: number) => ({ lowest: number, highest: number, readsState: true });

it('what an upstream said to lack it lacks, though it said the same of an older block since', () => {
  const held = new AvailableBlocks(false);
  held.recordMissing('eth_call', block(500), HEAD, 0);
  held.recordMissing('eth_call', block(100), HEAD, 1_000);
  expect([100, 500, 501].map((number) => held.isMissing('eth_call', block(number), 2_000))).toEqual([
    true,
    true,
    false,
  ]);
  held.recordMissing('eth_call', block(700), HEAD, 3_000);
  expect(held.isMissing('eth_call', block(700), 4_000)).toBe(true);
  // Ten minutes later it may have them, and is believed about what it says then.
  expect(held.isMissing('eth_call', block(100), 700_000)).toBe(false);
  held.recordMissing('eth_call', block(100), HEAD, 700_000);
  expect([100, 500].map((number) => held.isMissing('eth_call', block(number), 700_001))).toEqual([true, false]);
});
