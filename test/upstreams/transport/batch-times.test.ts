import { expect, it } from 'vitest';
import { Random } from '../../../bench/random.ts';
import { BatchTimes } from '../../../gateway/upstreams/transport/batch-times.ts';

/** @returns the number of the batch after which batches are slower; undefined: they are not */
function slowerAfter(timeOf: (isAlone: boolean) => number, batches = 3_000): number | undefined {
  const times = new BatchTimes();
  for (let batch = 1; batch <= batches; batch++) {
    const isAlone = times.takeAlone();
    if (times.add(timeOf(isAlone), isAlone)) return batch;
  }
  return undefined;
}

it('batches are slower at a node that works on their calls one after the other', () => {
  expect(slowerAfter((isAlone) => (isAlone ? 1.2 : 10))).toBeLessThan(100);
  expect(slowerAfter((isAlone) => (isAlone ? 31 : 50))).toBeLessThan(100);
});

it('batches are not slower if their times vary as those of single calls', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    expect(slowerAfter(() => 30 * Math.exp(0.3 * random.normal()))).toBeUndefined();
  }
});

it('a difference of less than half a millisecond does not count', () => {
  expect(slowerAfter((isAlone) => (isAlone ? 0.2 : 0.6))).toBeUndefined();
});

it('one of a hundred batches is sent as single calls, at first one of four', () => {
  const times = new BatchTimes();
  const alone: number[] = [];
  for (let batch = 1; batch <= 1_064; batch++) {
    const isAlone = times.takeAlone();
    if (isAlone) alone.push(batch);
    times.add(10, isAlone);
  }
  expect(alone.slice(0, 16)).toEqual(Array.from({ length: 16 }, (_, index) => 4 * (index + 1)));
  expect(alone.slice(16)).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
});
