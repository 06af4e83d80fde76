import { expect, it } from 'vitest';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { SimulatedRandom } from '../support/simulated-random.ts';

it('stands still until it is advanced, also while promises resolve', async () => {
  const clock = new SimulatedClock(1_000);
  const startedAt = clock.now();
  await clock.advance(0);
  expect([clock.now() - startedAt, clock.unixMs()]).toEqual([0, 1_000]);
  await clock.advance(250);
  expect([clock.now() - startedAt, clock.unixMs()]).toEqual([250, 1_250]);
});

it('fires timers in the order of their times, and those of one time in the order in which they were set', async () => {
  const clock = new SimulatedClock();
  const fired: string[] = [];
  const add = (name: string, ms: number) => clock.setTimeout((text) => fired.push(text), ms, name);
  add('30', 30);
  add('10 a', 10);
  add('10 b', 10);
  const cleared = add('20', 20);
  for (let ms = 40; ms < 140; ms++) add(String(ms), ms);
  clock.clearTimeout(cleared);
  await clock.advance(29);
  expect(fired).toEqual(['10 a', '10 b']);
  await clock.advance(200);
  expect(fired.slice(2)).toEqual(['30', ...Array.from({ length: 100 }, (_, index) => String(40 + index))]);
});

it('runs what awaits a timer, and the turns that it waits for, before the next timer', async () => {
  const clock = new SimulatedClock();
  const steps: string[] = [];
  const work = async (): Promise<void> => {
    await clock.sleep(5);
    for (let step = 0; step < 20; step++) await Promise.resolve();
    await clock.nextTurn();
    process.nextTick(() => steps.push('work'));
  };
  void work();
  clock.setTimeout(() => steps.push('timer'), 5);
  clock.setTimeout(() => steps.push('later'), 6);
  await clock.advance(6);
  expect(steps).toEqual(['work', 'timer', 'later']);
});

it('repeats intervals until they are cleared, and restarts timers', async () => {
  const clock = new SimulatedClock();
  const fired: number[] = [];
  const startedAt = clock.now();
  const interval = clock.setInterval(() => {
    fired.push(clock.now() - startedAt);
    if (fired.length === 3) clock.clearInterval(interval);
  }, 10);
  const timer = clock.setTimeout(() => fired.push(-1), 30);
  await clock.advance(20);
  timer.refresh();
  await clock.advance(29);
  expect(fired).toEqual([10, 20, 30]);
  await clock.advance(1);
  expect(fired).toEqual([10, 20, 30, -1]);
});

it('ends a sleep that is aborted', async () => {
  const clock = new SimulatedClock();
  const abort = new AbortController();
  const slept = clock.sleep(10, { signal: abort.signal });
  abort.abort(new Error('stopped'));
  await expect(slept).rejects.toThrow('stopped');
});

it('random values depend on the seed only', () => {
  const valuesOf = (seed: number): unknown[] => {
    const random = new SimulatedRandom(seed);
    return [random.number(), random.bytes(4).toString('hex'), random.uuid()];
  };
  expect(valuesOf(1)).toEqual(valuesOf(1));
  expect(valuesOf(1)).not.toEqual(valuesOf(2));
  expect(valuesOf(1)[2]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});
