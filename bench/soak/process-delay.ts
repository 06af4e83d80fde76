import { readFileSync } from 'node:fs';

const INTERVAL_MS = 20;
/** Time for which samples are retained: longer than any call takes. */
const RETAINED_MS = 60_000;

interface Sample {
  readonly at: number;
  readonly waitMs: number;
}

/**
 * Measures delays that other programs cause: of this process's own event loop, and the time for which the processes of the
 * soak waited for a CPU. Nodes run in this process, so they are slow during a delay although no fault is set.
 */
export class ProcessDelay {
  readonly #limitMs: number;
  readonly #readWaitMs: (pid: number) => number;
  readonly #timer: NodeJS.Timeout;
  /** Samples by process id, oldest first. */
  readonly #samples = new Map<number, { readonly first: number; readonly samples: Sample[] }>();
  readonly #startedAt = performance.now();
  #checkedAt = performance.now();
  #delayedAt = -Infinity;
  #maxMs = 0;

  /**
   * @param limitMs longer delays count for `wasDelayed`
   * @param readWaitMs reads for how long a process has waited for a CPU
   */
  constructor(limitMs: number, readWaitMs = cpuWaitMs) {
    this.#limitMs = limitMs;
    this.#readWaitMs = readWaitMs;
    this.#timer = setInterval(() => {
      this.#check();
    }, INTERVAL_MS);
  }

  /** Measurement that includes the CPU wait of this process. */
  watch(pid: number): void {
    this.#samples.set(pid, { first: this.#readWaitMs(pid), samples: [] });
    this.#check();
  }

  /** The longest delay of this process. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** The share of the time for which the process that waited longest had no CPU, in percent. */
  get waitPercent(): number {
    const waits = [...this.#samples].map(([pid, { first }]) => this.#readWaitMs(pid) - first);
    return (100 * Math.max(0, ...waits)) / (performance.now() - this.#startedAt);
  }

  /** Whether this process was paused, or a process waited for a CPU for longer than the limit in all, since a time. */
  wasDelayed(since: number): boolean {
    this.#check();
    return (
      this.#delayedAt >= since || [...this.#samples.values()].some(({ samples }) => this.#hasWaited(samples, since))
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #hasWaited(samples: readonly Sample[], since: number): boolean {
    const before = samples.findLast(({ at }) => at <= since) ?? samples[0];
    const last = samples.at(-1);
    return before !== undefined && last !== undefined && last.waitMs - before.waitMs > this.#limitMs;
  }

  #check(): void {
    const now = performance.now();
    const delayMs = now - this.#checkedAt - INTERVAL_MS;
    this.#checkedAt = now;
    this.#maxMs = Math.max(this.#maxMs, delayMs);
    if (delayMs > this.#limitMs) this.#delayedAt = now;
    for (const [pid, { samples }] of this.#samples) {
      if (now - (samples.at(-1)?.at ?? -Infinity) < INTERVAL_MS) continue;
      samples.push({ at: now, waitMs: this.#readWaitMs(pid) });
      if (now - (samples[0]?.at ?? now) > 2 * RETAINED_MS) samples.splice(0, samples.length / 2);
    }
  }
}

/** Time for which the main thread of a process has been ready without a CPU. 0 if the system does not count this. */
export function cpuWaitMs(pid: number): number {
  try {
    // The second number, in nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
    return (Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) || 0) / 1e6;
  } catch {
    return 0;
  }
}
