import { clock } from './clock.ts';

/** Resolves with a value when a promise has resolved or rejected. */
export function settled<T>(promise: Promise<unknown>, value: () => T): Promise<T> {
  return promise.then(value, value);
}

/** What the first of several promises resolves with; undefined: none does within this time, or the time is 0 or less. */
export async function firstWithin<T>(promises: readonly Promise<T>[], waitMs: number): Promise<T | undefined> {
  if (waitMs <= 0 || (promises.length === 0 && waitMs === Infinity)) return undefined;
  if (waitMs === Infinity) return Promise.race(promises);
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => {
      // After a stall of the event loop, responses may have arrived that are not read yet.
      clock.setImmediate(resolve, undefined);
    }, waitMs);
    const end = (): void => {
      clock.clearTimeout(timer);
    };
    for (const promise of promises) void promise.then(resolve, reject).then(end);
  });
}
