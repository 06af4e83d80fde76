import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { TimeSlicer } from '../../gateway/jsonrpc/time-slices.ts';

it('long work continues in later turns of the event loop, in order, also across several promises', async () => {
  let now = clock.now();
  // Each reading of the clock takes time, so that a slice ends on any machine.
  const reading = vi.spyOn(clock, 'now').mockImplementation(() => (now += 0.01));
  onTestFinished(() => {
    reading.mockRestore();
  });
  const timeSlicer = new TimeSlicer();
  while (timeSlicer.next() === undefined);
  const later: number[] = [];
  for (let name = 0; name < 6; name++)
    void timeSlicer.next()?.then(async () => {
      await Promise.resolve();
      await Promise.resolve();
      later.push(name);
      now += 1;
    });
  const counts: number[] = [];
  while (later.length < 6) {
    await turn();
    counts.push(later.length);
  }
  expect(Math.max(...counts.map((count, index) => count - (counts[index - 1] ?? 0)))).toBeLessThanOrEqual(2);
  expect(later).toEqual([0, 1, 2, 3, 4, 5]);
});

it('all work in progress shares a slice: new work waits behind waiting work', async () => {
  const timeSlicer = new TimeSlicer();
  while (timeSlicer.next() === undefined);
  const seen: string[] = [];
  void timeSlicer.next()?.then(() => seen.push('first'));
  await timeSlicer.next()?.then(() => seen.push('second'));
  expect(seen).toEqual(['first', 'second']);
  await turn();
  expect(timeSlicer.next()).toBeUndefined();
});
