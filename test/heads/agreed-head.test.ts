import { describe, expect, it } from 'vitest';
import { agreedHead } from '../../gateway/heads/agreed-head.ts';
import type { PolledHead } from '../../gateway/heads/head-poll.ts';

const HOUR = 3_600;
const now = 1_700_000_000;

/** A head, and the age of its block in seconds where that is known. */
function look(number: number | bigint, age?: number, at = 0): PolledHead {
  const timestamp = age === undefined ? undefined : BigInt(now - age);
  return { number: BigInt(number), timestamp, gasLimit: undefined, header: undefined, at };
}

const agreed = (looks: readonly PolledHead[], last?: PolledHead, blockMs = 12_000) =>
  Number(agreedHead(looks, last, blockMs)?.number ?? -1);

describe('the head that upstreams agree on', () => {
  it('is none where nobody says anything', () => {
    expect(agreed([])).toBe(-1);
  });

  it.each([
    ['the only one, whatever it says', [look(10n ** 18n)], undefined, 10 ** 18],
    ['the highest of those close together', [look(1_000), look(1_002), look(1_001)], undefined, 1_002],
    ['not one absurd number', [look(1_000), look(10n ** 18n), look(1_001)], undefined, 1_001],
    ['not one absurd number, beside a single other', [look(1_000, 12), look(10n ** 18n, 0)], undefined, 1_000],
    ['not a number some thousands above, of the same age', [look(1_000, 12), look(9_000, 0)], undefined, 1_000],
    ['not the head of a quicker chain behind one address', [look(1_000, 5), look(300_000, 1)], look(999), 1_000],
    [
      'one that is ahead of all by the clocks of the blocks',
      [look(700, HOUR), look(1_000), look(1_000, 0)],
      undefined,
      1_000,
    ],
    ['one whose others are stuck, be they many', [look(700, HOUR), look(1_000, 0), look(700, HOUR)], undefined, 1_000],
    ['one that syncs for weeks not', [look(1_000_000, 0), look(100_000, 900_000 * 12)], undefined, 1_000_000],
    ['one that goes on from where it was, without clocks', [look(1_000), look(2_000)], look(1_990), 2_000],
    ['not one that only its own word brought there', [look(1_000), look(1_001), look(2_000)], look(1_999), 1_001],
    ['lower, when all have gone back', [look(3), look(2)], look(1_000), 3],
    ['where it was, as long as one is there', [look(3), look(1_000)], look(1_000), 1_000],
  ] as const)('is %s', (_, looks, last, number) => {
    expect(agreed(looks, last)).toBe(number);
  });

  it('may run ahead with the time since it was last seen, and no further', () => {
    const last = look(1_000, undefined, 0);
    const after = (ms: number, number: number) => agreed([look(500, undefined, ms), look(number, undefined, ms)], last);
    expect([after(60_000, 1_030), after(60_000, 1_300), after(600_000, 1_100)]).toEqual([1_030, 500, 1_100]);
  });

  it('is judged by the network’s own pace', () => {
    const looks = [look(1_000, 60), look(1_200, 0)];
    expect([agreed(looks, undefined, 250), agreed(looks, undefined, 12_000)]).toEqual([1_200, 1_000]);
  });
});
