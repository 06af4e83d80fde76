import { describe, expect, it } from 'vitest';
import { BlockTimes } from '../../gateway/chain/block-times.ts';

const BLOCK_S = 2;

/** @param timestamps of blocks that an upstream has wrong */
function blockMsAfter(count: number, timestamps: ReadonlyMap<number, bigint>): number[] {
  const times = new BlockTimes();
  return Array.from({ length: count }, (_, at) => {
    const timestamp = timestamps.get(at) ?? BigInt(1_700_000_000 + at * BLOCK_S);
    times.add({ number: BigInt(100 + at), timestamp, at: at * BLOCK_S * 1_000 });
    return times.blockMs ?? NaN;
  });
}

describe('the block time', () => {
  it.each([
    ['0', 0n],
    ['in milliseconds', 1_700_000_080_000n],
    ['of 256 bits', 2n ** 256n - 1n],
  ])('is hardly changed by one timestamp that is %s', (_, wrong) => {
    const blockMs = blockMsAfter(200, new Map([[40, wrong]]));
    expect(blockMs[39]).toBe(2_000);
    expect(Math.max(...blockMs.slice(40))).toBeLessThan(4_000);
    expect(Math.min(...blockMs.slice(40))).toBeGreaterThan(1_500);
    expect(blockMs[199]).toBeCloseTo(2_000, -2);
  });

  it('is that of whole seconds with several blocks', () => {
    const times = new BlockTimes();
    for (let at = 0; at < 100; at++)
      times.add({ number: BigInt(at), timestamp: BigInt(Math.floor(at / 4)), at: at * 250 });
    expect(times.blockMs).toBeGreaterThan(200);
    expect(times.blockMs).toBeLessThan(300);
  });
});
