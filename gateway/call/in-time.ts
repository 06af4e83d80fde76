import { clock, type Timer } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import type { Call } from './call.ts';

/** Waits for other workers or the primary, until the deadline of the call. @throws RpcError after it (rejects with it) */
export function inTime<T>({ deadline }: Call, waiting: Promise<T>): Promise<T> {
  return withTimeout(waiting, deadline - clock.now(), () => new RpcError('no-upstream'));
}

/** Waits as `inTime`, but the deadline ends the wait without an error: the call may have a response to pass on. */
export async function untilDeadline(call: Call, waiting: Promise<unknown>): Promise<void> {
  try {
    await inTime(call, waiting);
  } catch (error) {
    if (clock.now() < call.deadline) throw error;
  }
}

/** Resolves with a value when a promise has resolved or rejected. */
export function settled<T>(promise: Promise<unknown>, value: () => T): Promise<T> {
  return promise.then(value, value);
}

/** What the first of several promises resolves with; undefined: none does within this time, or the time is 0 or less. */
export async function firstWithin<T>(promises: readonly Promise<T>[], waitMs: number): Promise<T | undefined> {
  if (waitMs <= 0 || (promises.length === 0 && waitMs === Infinity)) return undefined;
  if (waitMs === Infinity) return Promise.race(promises);
  let timer: Timer | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = clock.setTimeout(() => {
      // After a stall of the event loop, responses may have arrived that are not read yet.
      clock.setImmediate(() => {
        resolve(undefined);
      });
    }, waitMs);
  });
  try {
    return await Promise.race([...promises, timeout]);
  } finally {
    clock.clearTimeout(timer);
  }
}
