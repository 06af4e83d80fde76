import { describe, expect, it } from 'vitest';
import { BlockTimes } from '../../gateway/chain/block-times.ts';

/** @param wrong timestamp of one block of a poll @returns the block time after each poll */
function blockMsAfterPolls(wrong: bigint, blockMs: number, blocksOfPoll: number): number[] {
  const times = new BlockTimes();
  return Array.from({ length: 100 }, (_, poll) => {
    const at = poll * blocksOfPoll * blockMs;
    const timestamp = poll === 50 ? wrong : BigInt(1_700_000_000 + Math.floor(at / 1_000));
    times.add({ number: BigInt(100 + poll * blocksOfPoll), timestamp, at });
    return times.blockMs ?? NaN;
  });
}

const wrongTimestamps: readonly (readonly [string, bigint])[] = [
  ['0', 0n],
  ['in milliseconds', 1_700_000_080_000n],
  ['of 256 bits', 2n ** 256n - 1n],
];

describe('the block time', () => {
  it.each(wrongTimestamps)('is not changed by one timestamp that is %s', (_, wrong) => {
    for (const [blockMs, blocksOfPoll] of [
      [2_000, 1],
      [250, 8],
      [250, 60],
      [12_000, 1],
    ] as const) {
      const measured = blockMsAfterPolls(wrong, blockMs, blocksOfPoll).slice(40);
      expect([blockMs, Math.max(...measured) <= 1.1 * blockMs, Math.min(...measured) >= 0.9 * blockMs]).toEqual([
        ...[blockMs, true, true],
      ]);
    }
  });

  it('is that of whole seconds with several blocks', () => {
    const times = new BlockTimes();
    for (let at = 0; at < 100; at++)
      times.add({ number: BigInt(at), timestamp: BigInt(Math.floor(at / 4)), at: at * 250 });
    expect(times.blockMs).toBeGreaterThan(200);
    expect(times.blockMs).toBeLessThan(300);
  });
});
