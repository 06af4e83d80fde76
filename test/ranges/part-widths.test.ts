import { expect, it } from 'vitest';
import { endOfPart, narrowerThan, startOfPart, widerThan, widthsWithin } from '../../gateway/ranges/part-widths.ts';

it.each([
  [100_000, 50_000],
  [50_000, 20_000],
  [20_001, 20_000],
  [2_001, 2_000],
  [3, 2],
  [2, 1],
  [1, 0],
])('the widest part below %i blocks has %i', (blocks, width) => {
  expect(narrowerThan(blocks)).toBe(width);
});

it.each([
  [1, 2],
  [2, 5],
  [5_000, 10_000],
  [5_001, 10_000],
])('the narrowest part above %i blocks has %i', (blocks, width) => {
  expect(widerThan(blocks)).toBe(width);
});

it('lists the widths within a number of blocks, the widest first', () => {
  expect(widthsWithin(60)).toEqual([50, 20, 10, 5, 2, 1]);
});

it.each([
  // from, to, maxBlocks, end
  [0, 9_999, 2_000, 1_999],
  [1, 9_999, 2_000, 1_999],
  [2_000, 9_999, 3_500, 3_999],
  [9_000, 9_500, 2_000, 9_500],
  [7, 7, 1, 7],
  [7, 9_999, 1, 7],
  [7, 9_999, Infinity, 9_999],
])('the part from %i in a range to %i with at most %i blocks ends at %i', (from, to, maxBlocks, end) => {
  expect(endOfPart(from, to, maxBlocks)).toBe(end);
});

it.each([
  // from, to, maxBlocks, start
  [0, 9_999, 2_000, 8_000],
  [0, 10_000, 2_000, 10_000],
  [9_000, 9_999, 2_000, 9_000],
  [0, 9_999, Infinity, 0],
])('the last part of the range %i to %i with at most %i blocks starts at %i', (from, to, maxBlocks, start) => {
  expect(startOfPart(from, to, maxBlocks)).toBe(start);
});

it('parts from both ends of any range have at most the width, and the same boundaries', () => {
  for (const [from, to, width] of [
    [0, 100, 7],
    [13, 977, 20],
    [999, 5_001, 1_000],
  ] as const) {
    const starts: number[] = [];
    for (let at = from; at <= to; at = endOfPart(at, to, width) + 1) {
      starts.push(at);
      expect(endOfPart(at, to, width) - at).toBeLessThan(width);
    }
    const fromEnd: number[] = [];
    for (let at = to; at >= from; at = startOfPart(from, at, width) - 1) fromEnd.push(startOfPart(from, at, width));
    expect(fromEnd.reverse()).toEqual(starts);
  }
});
