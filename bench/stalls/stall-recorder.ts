import { subscribe } from 'node:diagnostics_channel';
import { openSync, readSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { causesOf, type Pause, type Turn } from './stall-causes.ts';

/**
 * Loaded into the gateway's process before its program (`--import`). Records each turn of the event loop that takes more
 * than 1 ms of CPU, from the first message of the parent process until the second, and sends it the causes. An immediate
 * in each turn keeps the loop awake. Linux only.
 */
const MIN_STALL_MS = 1;
const SAMPLE_US = 250;

const gcKinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'young generation',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'whole heap',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'whole heap, a step',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak references',
};

// The first number is the thread's CPU time in nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const bytes = Buffer.alloc(64);
const session = new Session();
const turns: Turn[] = [];
const pauses: Pause[] = [];
let isRecording = false;
let startedAt = 0;
let startedCpuMs = 0;
/** Requests of clients and responses of upstreams in this turn. */
let messages = 0;

const countMessage = (): void => {
  messages++;
};
subscribe('http.server.request.start', countMessage);
subscribe('undici:request:headers', countMessage);
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { startTime, duration } = entry;
    if (isRecording) pauses.push({ startedAt: startTime, endedAt: startTime + duration, kind: kindOf(entry) });
  }
}).observe({ entryTypes: ['gc'] });

process.on('message', () => {
  void (isRecording ? stop() : begin());
});

async function begin(): Promise<void> {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  await session.post('Profiler.start');
  isRecording = true;
  messages = 0;
  startedAt = performance.now();
  startedCpuMs = cpuMs();
  setImmediate(endTurn);
}

async function stop(): Promise<void> {
  isRecording = false;
  const { profile } = await session.post('Profiler.stop');
  // The profile has the same clock, from another origin.
  const originUs = Number(process.hrtime.bigint()) / 1_000 - performance.now() * 1_000;
  process.send?.(causesOf(turns, pauses, profile, originUs));
}

function kindOf(entry: PerformanceEntry): string {
  const { kind } = (entry as PerformanceEntry & { readonly detail: { readonly kind: number } }).detail;
  return gcKinds[kind] ?? 'other';
}

function endTurn(): void {
  const endedAt = performance.now();
  const endedCpuMs = cpuMs();
  const ms = Math.min(endedAt - startedAt, endedCpuMs - startedCpuMs);
  if (ms > MIN_STALL_MS) turns.push({ startedAt, endedAt, ms, messages });
  messages = 0;
  startedAt = endedAt;
  startedCpuMs = endedCpuMs;
  if (isRecording) setImmediate(endTurn);
}

function cpuMs(): number {
  return parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)), 10) / 1e6;
}
