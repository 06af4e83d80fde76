import { expect, it } from 'vitest';
import { Random } from '../../../bench/random.ts';
import { BatchTimes } from '../../../gateway/upstreams/transport/batch-times.ts';
import { shiftClock } from '../../routing/with-nodes.ts';

const CALLS = 10;

function addAlone(times: BatchTimes, ms: number): void {
  if (times.alone !== undefined) times.addAlone(times.alone, ms);
}

/**
 * @param timeOf a batch of ten calls, and each of its calls if they are sent alone
 * @returns the number of the batch after which batches are serial; undefined: they are not
 */
function serialAfter(timeOf: (isAlone: boolean, batch: number) => number, intervalMs = 10): number | undefined {
  const clock = shiftClock();
  const times = new BatchTimes();
  for (let batch = 1; batch <= 3_000; batch++) {
    const isAlone = times.takeAlone();
    const ms = timeOf(isAlone, batch);
    clock.forward(intervalMs);
    if (isAlone) addAlone(times, ms);
    else if (times.addTogether(times.alone, ms, CALLS) === true) return batch;
  }
  return undefined;
}

it('batches are serial at a node that works on their calls one after the other: the third pair decides', () => {
  expect(serialAfter((isAlone) => (isAlone ? 1.2 : 10))).toBeLessThan(16);
  expect(serialAfter((isAlone) => (isAlone ? 30 : 250))).toBeLessThan(16);
});

it('batches that take less than 0.7 × the sum of their calls are not serial', () => {
  expect(serialAfter((isAlone) => (isAlone ? 10 : 69))).toBeUndefined();
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    expect(serialAfter(() => 30 * Math.exp(0.3 * random.normal()))).toBeUndefined();
  }
});

it('a difference of less than half a millisecond does not count', () => {
  expect(serialAfter((isAlone) => (isAlone ? 0.05 : 0.5))).toBeUndefined();
});

it('pauses that fall into one, or into two pairs in a row, decide nothing', () => {
  const isPaused = (batch: number): boolean => [5, 7].includes(batch % 100);
  expect(serialAfter((isAlone, batch) => (isAlone ? 1 : isPaused(batch) ? 250 : 2))).toBeUndefined();
});

it('a batch that was sent before the single calls is not compared with them', () => {
  shiftClock();
  const times = new BatchTimes();
  const { alone } = times;
  expect([1, 2, 3, 4].map(() => times.takeAlone())).toEqual([false, false, false, true]);
  addAlone(times, 1);
  // Ten were in flight during a pause.
  for (let batch = 0; batch < 10; batch++) expect(times.addTogether(alone, 250, CALLS)).toBeUndefined();
  expect(times.addTogether(times.alone, 2, CALLS)).toBe(false);
});

it('times that are more than ten seconds apart are not compared', () => {
  expect(serialAfter((isAlone) => (isAlone ? 1.2 : 10), 10_001)).toBeUndefined();
});

it.each([
  [20, 400, [4, 12, 24, 100, 200, 300, 400]],
  [1, 2_200, [4, 12, 24, 1_100, 2_100]],
])(
  'one of a hundred batches is sent as single calls, at most one in a second: every %i ms',
  (ms, batches, expected) => {
    const clock = shiftClock();
    const times = new BatchTimes();
    const alone: number[] = [];
    for (let batch = 1; batch <= batches; batch++) {
      const isAlone = times.takeAlone();
      if (isAlone) alone.push(batch);
      if (isAlone) addAlone(times, 10);
      // Ten batches are in flight at once.
      else if (batch % 10 === 0) times.addTogether(times.alone, 11, CALLS);
      clock.forward(ms);
    }
    expect(alone).toEqual(expected);
  },
);
