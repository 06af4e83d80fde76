import { expect, it, onTestFinished, vi } from 'vitest';
import { cpuWaitMs, ProcessDelay } from '../../../bench/soak/process-delay.ts';

/** Stops `performance.now` until the test ends. */
function shiftClock(): { forward(ms: number): void } {
  let now = Math.ceil(performance.now());
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => {
    spy.mockRestore();
  });
  return { forward: (ms) => void (now += ms) };
}

it('a process that waited for a CPU for longer than the limit was delayed, until enough time has passed', () => {
  const clock = shiftClock();
  const waits = new Map([
    [1, 5_000],
    [2, 0],
  ]);
  const delay = new ProcessDelay(100, (pid) => waits.get(pid) ?? 0);
  delay.stop();
  for (const pid of waits.keys()) delay.watch(pid);
  const pass = (ms: number, waited: number): void => {
    clock.forward(ms);
    waits.set(2, (waits.get(2) ?? 0) + waited);
  };
  const from = performance.now();
  pass(90, 60);
  expect(delay.wasDelayed(from)).toBe(false);
  const later = performance.now();
  pass(90, 60);
  expect([delay.wasDelayed(from), delay.wasDelayed(later)]).toEqual([true, false]);
  pass(120, 0);
  expect(delay.wasDelayed(later)).toBe(false);
  expect(delay.waitPercent).toBe(40);
});

it('a pause of the own event loop counts without a watched process', () => {
  const clock = shiftClock();
  const delay = new ProcessDelay(100);
  delay.stop();
  const from = performance.now();
  clock.forward(100);
  expect(delay.wasDelayed(from)).toBe(false);
  clock.forward(121);
  expect([delay.wasDelayed(from), delay.maxMs]).toEqual([true, 101]);
});

it('the CPU wait is a number, and 0 for a process that does not exist', () => {
  expect(cpuWaitMs(process.pid)).toBeGreaterThanOrEqual(0);
  expect(cpuWaitMs(2 ** 30)).toBe(0);
});
