import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';

/** What the gateway promises within a second, as a loaded machine shows it. */
export const SOON_MS = 4_000;

/** Time between two checks: a tenth of the wait until now, so that a long one takes little CPU. Most conditions send a request. */
const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;

type Condition = () => boolean | Promise<boolean>;

/** The real clock, also in tests that move or stop `performance.now`. */
const now = performance.now.bind(performance);

/** Asserts that a condition becomes true within `timeoutMs`, and waits until it is. @returns elapsed ms */
export async function eventually(condition: Condition, timeoutMs = 20_000): Promise<number> {
  const start = now();
  for (;;) {
    const isTrue = await condition();
    const elapsedMs = now() - start;
    if (isTrue || elapsedMs > timeoutMs) {
      expect(isTrue && elapsedMs <= timeoutMs, `the condition is true within ${timeoutMs} ms`).toBe(true);
      return elapsedMs;
    }
    await sleep(Math.min(Math.max(MIN_PAUSE_MS, elapsedMs / 10), MAX_PAUSE_MS));
  }
}

/** Asserts that a condition is true now and remains true for `ms`: for what must not happen. */
export async function staysTrueFor(ms: number, condition: Condition): Promise<void> {
  const start = now();
  for (;;) {
    const elapsedMs = now() - start;
    expect(await condition(), `the condition is true after ${Math.round(elapsedMs)} of ${ms} ms`).toBe(true);
    if (elapsedMs >= ms) return;
    await sleep(Math.min(5, ms - elapsedMs));
  }
}
