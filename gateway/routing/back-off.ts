import { random } from '../clock/random.ts';
import { clock } from '../clock/clock.ts';

const FIRST_WAIT_MS = 25;

/**
 * Waits before an attempt at an upstream with an open circuit. The wait doubles with each failure, and half of it is random,
 * so that calls do not retry in the same moment. It is skipped if it would take more than half of the remaining time.
 */
export async function backOff(failures: number, remainingMs: number): Promise<void> {
  const waitMs = FIRST_WAIT_MS * 2 ** failures * (0.5 + random.number() / 2);
  if (2 * waitMs < remainingMs) await clock.sleep(waitMs);
}
