import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';

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
    await sleep(5);
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
