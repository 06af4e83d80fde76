import { afterEach, beforeEach } from 'vitest';
import { clock, installClock } from '../../gateway/clock/clock.ts';
import { SimulatedClock } from './simulated-clock.ts';

const systemClock = clock;

/** Each test of a file or `describe` has a simulated clock. @returns that of the test in progress */
export function simulateTime(): () => SimulatedClock {
  let time: SimulatedClock;
  beforeEach(() => {
    time = new SimulatedClock();
    installClock(time);
  });
  afterEach(() => endSimulation(time));
  return () => time;
}

/** Restores the clock of the system. What waits for a turn would wait for ever, also in later tests of this process. */
export async function endSimulation(time: SimulatedClock): Promise<void> {
  await time.advance(0);
  installClock(systemClock);
}
