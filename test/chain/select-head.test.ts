import { describe, expect, it } from 'vitest';
import { selectHead } from '../../gateway/chain/select-head.ts';
import type { SeenHead } from '../../gateway/chain/header.ts';

const HOUR = 3_600;
const now = 1_700_000_000;

/** @param age of the block in seconds, if known */
function head(number: number | bigint, age?: number, at = 0): SeenHead {
  const timestamp = age === undefined ? undefined : BigInt(now - age);
  return { number: BigInt(number), timestamp, gasLimit: undefined, header: undefined, at };
}

const agreed = (polledHeads: readonly SeenHead[], last?: SeenHead, blockMs = 12_000) =>
  Number(selectHead(polledHeads, last, blockMs)?.number ?? -1);

describe('the agreed head of the upstreams', () => {
  it('is undefined if no head is known', () => {
    expect(agreed([])).toBe(-1);
  });

  it.each([
    ['the only head, whatever its number', [head(10n ** 18n)], undefined, 10 ** 18],
    ['the highest of close heads', [head(1_000), head(1_002), head(1_001)], undefined, 1_002],
    ['not a single absurd number', [head(1_000), head(10n ** 18n), head(1_001)], undefined, 1_001],
    ['not a single absurd number beside one other head', [head(1_000, 12), head(10n ** 18n, 0)], undefined, 1_000],
    [
      'not a number thousands of blocks above with the same timestamp',
      [head(1_000, 12), head(9_000, 0)],
      undefined,
      1_000,
    ],
    ['not the head of a faster chain behind the same address', [head(1_000, 5), head(300_000, 1)], head(999), 1_000],
    [
      'the highest, if its timestamp is as much newer',
      [head(700, HOUR), head(1_000), head(1_000, 0)],
      undefined,
      1_000,
    ],
    ['the highest, if the majority is stuck', [head(700, HOUR), head(1_000, 0), head(700, HOUR)], undefined, 1_000],
    [
      'not that of an upstream that is syncing',
      [head(1_000_000, 0), head(100_000, 900_000 * 12)],
      undefined,
      1_000_000,
    ],
    [
      'the one that continues from the previous head, without timestamps',
      [head(1_000), head(2_000)],
      head(1_990),
      2_000,
    ],
    [
      'not one far above two that agree, even if it continues from the previous head',
      [head(1_000), head(1_001), head(2_000)],
      head(1_999),
      1_001,
    ],
    ['lower, if all heads are lower', [head(3), head(2)], head(1_000), 3],
    ['the previous one, while one upstream has it', [head(3), head(1_000)], head(1_000), 1_000],
  ] as const)('is %s', (_, polledHeads, last, number) => {
    expect(agreed(polledHeads, last)).toBe(number);
  });

  it('may increase in proportion to the time since the previous head, and no more', () => {
    const last = head(1_000, undefined, 0);
    const after = (ms: number, number: number) => agreed([head(500, undefined, ms), head(number, undefined, ms)], last);
    expect([after(60_000, 1_030), after(60_000, 1_300), after(600_000, 1_100)]).toEqual([1_030, 500, 1_100]);
  });

  it('depends on the block time of the network', () => {
    const polledHeads = [head(1_000, 60), head(1_200, 0)];
    expect([agreed(polledHeads, undefined, 250), agreed(polledHeads, undefined, 12_000)]).toEqual([1_200, 1_000]);
  });
});
