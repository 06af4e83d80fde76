import { setTimeout as delay } from 'node:timers/promises';

const FIRST_MS = 25;

/**
 * Waits before an upstream that rests is asked as a last resort: twice as long after each failure. Half of it is chance,
 * so that many calls do not come back at the same moment. Where there is no time for it, it is asked at once.
 */
export async function backOff(failures: number, remainingMs: number): Promise<void> {
  const waitMs = FIRST_MS * 2 ** failures * (0.5 + Math.random() / 2);
  if (2 * waitMs < remainingMs) await delay(waitMs);
}
