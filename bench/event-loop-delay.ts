import { openSync, readSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

/**
 * Loaded into a process before its program (`--import`): tells its parent, when that asks, how long its event loop was
 * held since the last time. A step counts with the CPU time that the main thread had of it, so that other programs'
 * turns on the machine are not taken for it. Linux only.
 */
export interface Validity {
  readonly maxMs: number;
  /** The longest pause of the garbage collector, by the clock: it is in those steps, too. */
  readonly collectorMaxMs: number;
  /** Steps that took longer than this many ms. */
  readonly over: Readonly<Record<'2' | '5' | '10' | '20', number>>;
}

// Its first number is the thread's time on a CPU, in nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const bytes = Buffer.alloc(64);
let maxMs = 0;
let collectorMaxMs = 0;
let over = { 2: 0, 5: 0, 10: 0, 20: 0 };
let lookedAt = performance.now();
let had = cpuMs();

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectorMaxMs = Math.max(collectorMaxMs, duration);
}).observe({ entryTypes: ['gc'] });

setInterval(() => {
  const now = performance.now();
  const has = cpuMs();
  const heldMs = Math.min(now - lookedAt, has - had);
  lookedAt = now;
  had = has;
  maxMs = Math.max(maxMs, heldMs);
  for (const limit of [2, 5, 10, 20] as const) if (heldMs > limit) over[limit]++;
}, 1).unref();

process.on('message', () => {
  process.send?.({ maxMs, collectorMaxMs, over } satisfies Validity);
  maxMs = 0;
  collectorMaxMs = 0;
  over = { 2: 0, 5: 0, 10: 0, 20: 0 };
});

function cpuMs(): number {
  return parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)), 10) / 1e6;
}
