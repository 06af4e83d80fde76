import { createHook } from 'node:async_hooks';

const WARMUP_CALLS = 500;
const CALLS = 1_000;

/** What one call creates, on average. Independent of the machine and its load. */
export interface AsyncCounts {
  readonly promises: number;
  readonly timers: number;
}

/** Counts the promises and timers of calls in turn, and of all that they cause. Other work of the process is counted, too. */
export async function countAsync(work: () => Promise<unknown>): Promise<AsyncCounts> {
  for (let count = 0; count < WARMUP_CALLS; count++) await work();
  const counts = new Map<string, number>();
  const hook = createHook({
    init(_id, type) {
      counts.set(type, (counts.get(type) ?? 0) + 1);
    },
  });
  hook.enable();
  for (let count = 0; count < CALLS; count++) await work();
  hook.disable();
  const perCall = (type: string): number => (counts.get(type) ?? 0) / CALLS;
  // One promise is that of the await above.
  return { promises: perCall('PROMISE') - 1, timers: perCall('Timeout') };
}
