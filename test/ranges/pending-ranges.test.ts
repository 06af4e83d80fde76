import { expect, it } from 'vitest';
import { PendingRanges } from '../../gateway/ranges/pending-ranges.ts';

function pendingWith(...ranges: readonly (readonly [number, number, number?])[]): PendingRanges {
  const pending = new PendingRanges();
  for (const [from, to, maxBlocks = Infinity] of ranges) pending.add({ from, to, maxBlocks });
  return pending;
}

/** Removes all ranges, block order. */
function drain(pending: PendingRanges): object[] {
  const ranges: object[] = [];
  while (pending.lowest !== undefined) ranges.push(pending.takeFirstPart(Infinity));
  return ranges;
}

it('are in the order of their blocks', () => {
  const pending = pendingWith([50, 59], [10, 19], [30, 39]);
  expect([pending.lowest?.from, pending.highest?.from]).toEqual([10, 50]);
  expect(drain(pending)).toEqual([
    { from: 10, to: 19 },
    { from: 30, to: 39 },
    { from: 50, to: 59 },
  ]);
});

it('are divided from the start', () => {
  const pending = pendingWith([0, 99]);
  expect(pending.takeFirstPart(20)).toEqual({ from: 0, to: 19 });
  expect(pending.takeFirstPart(50)).toEqual({ from: 20, to: 49 });
  expect(drain(pending)).toEqual([{ from: 50, to: 99 }]);
});

it('are divided from the end', () => {
  const pending = pendingWith([0, 99], [200, 230]);
  expect(pending.takeLastPart(20)).toEqual({ from: 220, to: 230 });
  expect(pending.takeLastPart(20)).toEqual({ from: 200, to: 219 });
  expect(pending.takeLastPart(20)).toEqual({ from: 80, to: 99 });
  expect(drain(pending)).toEqual([{ from: 0, to: 79 }]);
});

it('have parts of less than a refused width', () => {
  const pending = pendingWith([0, 99, 20]);
  expect(pending.takeFirstPart(Infinity)).toEqual({ from: 0, to: 19 });
  expect(pending.takeLastPart(Infinity)).toEqual({ from: 80, to: 99 });
  expect(pending.takeFirstPart(10)).toEqual({ from: 20, to: 29 });
  expect(pending.lowest).toEqual({ from: 30, to: 79, maxBlocks: 20 });
});

it('end at a part that is cached', () => {
  const pending = pendingWith([0, 99]);
  expect(pending.takeLowest(9)).toEqual({ from: 0, to: 9 });
  expect(pending.takeLowest(99)).toEqual({ from: 10, to: 99 });
  expect(pending.lowest).toBeUndefined();
});
