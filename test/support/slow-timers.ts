import { onTestFinished, vi } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';

/** Timers of the gateway take 30 times as long until the test ends: a call that waits for others is rejected after a second. */
export function slowTimers(): void {
  const set = clock.setTimeout.bind(clock);
  const spy = vi
    .spyOn(clock, 'setTimeout')
    .mockImplementation((callback, ms, ...args) => set(callback, 30 * ms, ...args));
  onTestFinished(() => {
    spy.mockRestore();
  });
}
