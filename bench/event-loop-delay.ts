import { openSync, readSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

/**
 * Loaded into a process before its program (`--import`). Sends the parent process, on request, how long the event loop was
 * blocked since the previous request. Only CPU time of the main thread counts, so that other programs on the machine do
 * not affect the result. Linux only.
 */
export interface EventLoopDelays {
  readonly maxMs: number;
  /** The longest pause of the garbage collector by wall clock. Such pauses are part of the other figures. */
  readonly collectorMaxMs: number;
  /** The number of times that the event loop was blocked for more than this many ms. */
  readonly over: Readonly<Record<'2' | '5' | '10' | '20', number>>;
}

// The first number is the thread's CPU time in nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const bytes = Buffer.alloc(64);
let maxMs = 0;
let collectorMaxMs = 0;
let over = { 2: 0, 5: 0, 10: 0, 20: 0 };
let checkedAt = performance.now();
let checkedCpuMs = cpuMs();

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectorMaxMs = Math.max(collectorMaxMs, duration);
}).observe({ entryTypes: ['gc'] });

setInterval(() => {
  const now = performance.now();
  const nowCpuMs = cpuMs();
  const blockedMs = Math.min(now - checkedAt, nowCpuMs - checkedCpuMs);
  checkedAt = now;
  checkedCpuMs = nowCpuMs;
  maxMs = Math.max(maxMs, blockedMs);
  for (const limit of [2, 5, 10, 20] as const) if (blockedMs > limit) over[limit]++;
}, 1).unref();

process.on('message', () => {
  process.send?.({ maxMs, collectorMaxMs, over } satisfies EventLoopDelays);
  maxMs = 0;
  collectorMaxMs = 0;
  over = { 2: 0, 5: 0, 10: 0, 20: 0 };
});

function cpuMs(): number {
  return parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)), 10) / 1e6;
}
