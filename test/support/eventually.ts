import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { elasticClock } from './elastic-clock.ts';

/** What the gateway promises within a second, as a loaded machine shows it. */
export const SOON_MS = 4_000;

/** Time between two checks. It grows, so that a long wait takes little CPU. Most conditions send a request. */
const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;

type Condition = () => boolean | Promise<boolean>;

/**
 * Asserts that a condition becomes true within `timeoutMs` of the gateway, and waits until it is.
 * @param stepMs time of the gateway that passes before each further check: for what happens after many seconds
 * @returns elapsed ms
 */
export async function eventually(condition: Condition, timeoutMs = 20_000, stepMs = 0): Promise<number> {
  const start = clock.now();
  using limit = after(timeoutMs);
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(1.1 * pauseMs, MAX_PAUSE_MS)) {
    const isTrue = await condition();
    if (isTrue || limit.hasPassed) expect(isTrue, `the condition is true within ${timeoutMs} ms`).toBe(true);
    if (isTrue) return clock.now() - start;
    await sleep(pauseMs);
    if (stepMs > 0) await elasticClock().advance(stepMs);
  }
}

/** Asserts that a condition is true now and remains true for `ms` of the gateway: for what must not happen. */
export async function staysTrueFor(ms: number, condition: Condition): Promise<void> {
  using end = after(ms);
  for (let count = 1; ; count++) {
    const isLast = end.hasPassed;
    expect(await condition(), `the condition is true for ${ms} ms, at check ${count}`).toBe(true);
    if (isLast) return;
    await sleep(MIN_PAUSE_MS);
  }
}

/** A timer of elastic time, also in tests that simulate the gateway's time. */
function after(ms: number): { readonly hasPassed: boolean } & Disposable {
  const time = elasticClock();
  let hasPassed = ms === 0;
  const timer = time.setTimeout(() => (hasPassed = true), ms);
  return {
    get hasPassed() {
      return hasPassed;
    },
    [Symbol.dispose]: () => {
      time.clearTimeout(timer);
    },
  };
}
