import { onTestFinished } from 'vitest';
import { clock, installClock } from '../../gateway/clock/clock.ts';

/**
 * Installs a clock until the test ends whose timers take 30 times as long: a call that waits for others is rejected after a
 * second, which a loaded machine exceeds.
 */
export function slowTimers(): void {
  const system = clock;
  installClock({
    ...system,
    setTimeout: (callback, ms, ...args) => system.setTimeout(callback, 30 * ms, ...args),
  });
  onTestFinished(() => {
    installClock(system);
  });
}
