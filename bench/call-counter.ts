import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';

/** What one call creates and runs in a process. Independent of the machine and its load. */
export interface CallCounts {
  readonly promises: number;
  readonly timers: number;
  /** Calls of functions of `gateway/`, a resumption after `await` included. */
  readonly functions: number;
}

const WARMUP_CALLS = 500;
const CALLS_PER_WINDOW = 10;
const MIN_WINDOWS = 50;
const MAX_WINDOWS = 500;

/** Counts promises and timers with async_hooks, and calls of functions with V8's precise coverage, in this process. */
export class CallCounter {
  readonly #created = new Map<string, number>();
  readonly #hook = createHook({
    init: (_id, type) => {
      this.#created.set(type, (this.#created.get(type) ?? 0) + 1);
    },
  });
  readonly #session = new Session();

  async begin(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await this.take();
  }

  /** The counts since the last call of this method. */
  async take(): Promise<CallCounts> {
    this.#hook.disable();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    let functions = 0;
    for (const { url, functions: all } of result) {
      if (!url.includes('/gateway/') || url.includes('/node_modules/')) continue;
      for (const { ranges } of all) functions += ranges[0]?.count ?? 0;
    }
    const counts = { promises: this.#of('PROMISE'), timers: this.#of('Timeout'), functions };
    this.#created.clear();
    this.#hook.enable();
    return counts;
  }

  async end(): Promise<void> {
    this.#hook.disable();
    await this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  #of(type: string): number {
    return this.#created.get(type) ?? 0;
  }
}

/** A `CallCounter`, here or in another process. */
export type Counting = Pick<CallCounter, 'begin' | 'take' | 'end'>;

/**
 * The counts of one call. Calls are made one after the other, in short windows. Polls and other work of the process run in
 * some of them only, so the lowest count of functions is that of the calls.
 */
export async function countPerCall(work: () => Promise<unknown>, counter: Counting): Promise<CallCounts> {
  for (let call = 0; call < WARMUP_CALLS; call++) await work();
  await counter.begin();
  const windows: CallCounts[] = [];
  while (windows.length < MIN_WINDOWS || (windows.length < MAX_WINDOWS && !isLowestConfirmed(windows))) {
    for (let call = 0; call < CALLS_PER_WINDOW; call++) await work();
    windows.push(await counter.take());
  }
  await counter.end();
  const { promises, timers, functions } = windows.reduce((a, b) => (b.functions < a.functions ? b : a));
  const perCall = (count: number): number => Math.round(count / CALLS_PER_WINDOW);
  return { promises: perCall(promises), timers: perCall(timers), functions: perCall(functions) };
}

/** Whether several windows have the lowest count. On a loaded machine, most windows have other work, too. */
function isLowestConfirmed(windows: readonly CallCounts[]): boolean {
  const lowest = Math.min(...windows.map(({ functions }) => functions));
  return windows.filter(({ functions }) => functions - lowest < CALLS_PER_WINDOW).length > 2;
}
