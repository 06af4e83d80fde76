import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from '../../gateway/upstream/turns.ts';
import { Slices } from '../../gateway/slices.ts';

it('large replies that come together are looked at one in a turn, oldest first, small ones several', async () => {
  const turns = new Turns();
  const seen: number[] = [];
  const take = (bytes: number, name: number): void => {
    const wait = turns.take(bytes);
    if (wait === undefined) seen.push(name);
    else void wait.then(() => seen.push(name));
  };
  take(1_000_000, 1);
  for (const name of [2, 3]) take(1_000_000, name);
  for (const name of [4, 5]) take(10_000, name);
  const seenAfter = [[...seen]];
  for (let turned = 0; turned < 3; turned++) {
    await turn();
    seenAfter.push([...seen]);
  }
  expect(seenAfter).toEqual([[1], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5]]);
  await turn();
  // One by itself does not wait.
  expect(turns.take(1_000_000)).toBeUndefined();
});

it('those who wait for the next slice go on a few at a time, in order', async () => {
  const slices = new Slices();
  while (slices.next() === undefined);
  const seen: number[] = [];
  for (let name = 0; name < 20; name++) void slices.next()?.then(() => seen.push(name));
  const counts: number[] = [];
  while (seen.length < 20) {
    await turn();
    counts.push(seen.length);
  }
  expect(counts.at(0)).toBeLessThan(10);
  expect(counts.length).toBeGreaterThanOrEqual(3);
  expect(seen).toEqual(seen.toSorted((one, other) => one - other));
});
