import { createHook } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What one call creates and runs in a process. Independent of the machine and its load. */
export interface CallCounts {
  readonly promises: number;
  readonly timers: number;
  /** Calls of functions of `gateway/`, a resumption after `await` included. */
  readonly functions: number;
  /** Bytes that are allocated in the JavaScript heap, without buffers. */
  readonly bytes: number;
  /** Bytes of these that minor garbage collections do not free. */
  readonly retained: number;
  /** Calls of each function, by name and place. */
  readonly byFunction: Readonly<Record<string, number>>;
}

/** The counts of a window. */
type WindowCounts = Omit<CallCounts, 'bytes' | 'retained'>;

const WARMUP_CALLS = 2_000;
const CALLS_PER_WINDOW = 10;
const MIN_WINDOWS = 50;
const MAX_WINDOWS = 500;
/** Calls at once, and one after the other, while it is counted what they retain. */
const CONCURRENCY = 64;
const CALLS_PER_WORKER = 100;

/** A function of V8 that is hidden by default. */
type Collect = (options?: { type: 'minor' }) => void;

/** Counts promises and timers with async_hooks, and calls of functions with V8's precise coverage, in this process. */
export class CallCounter {
  readonly #created = new Map<string, number>();
  readonly #hook = createHook({
    init: (_id, type) => {
      this.#created.set(type, (this.#created.get(type) ?? 0) + 1);
    },
  });
  readonly #session = new Session();
  /** Places of functions by script and offset. */
  readonly #places = new Map<string, string>();

  /** Collects garbage, and so moves what is in use to the old generation. */
  collectAll(): Promise<void> {
    this.#collect();
    return Promise.resolve();
  }

  /** Collects the garbage of the young generation, as happens after some hundred calls. */
  collectYoung(): Promise<void> {
    this.#collect({ type: 'minor' });
    return Promise.resolve();
  }

  /** Bytes in use in the JavaScript heap. They rise by each allocation, until the next garbage collection. */
  heapBytes(): Promise<number> {
    return Promise.resolve(process.memoryUsage().heapUsed);
  }

  #collect(...options: Parameters<Collect>): void {
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as Collect)(...options);
  }

  async begin(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await this.take();
  }

  /** The counts since the last call of this method. */
  async take(): Promise<WindowCounts> {
    this.#hook.disable();
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const byFunction: Record<string, number> = {};
    let functions = 0;
    for (const { url, functions: all } of result) {
      if (!url.includes('/gateway/') || url.includes('/node_modules/')) continue;
      for (const { functionName, ranges } of all) {
        const { count = 0, startOffset = 0 } = ranges[0] ?? {};
        if (count === 0) continue;
        functions += count;
        byFunction[`${functionName} ${this.#placeOf(url, startOffset)}`] = count;
      }
    }
    const counts = { promises: this.#of('PROMISE'), timers: this.#of('Timeout'), functions, byFunction };
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

  /** `routing/router.js:120`. */
  #placeOf(url: string, offset: number): string {
    const key = `${url} ${offset}`;
    let place = this.#places.get(key);
    if (place === undefined) {
      const line = readFileSync(fileURLToPath(url), 'utf8').slice(0, offset).split('\n').length;
      place = `${url.slice(url.lastIndexOf('/gateway/') + '/gateway/'.length)}:${line}`;
      this.#places.set(key, place);
    }
    return place;
  }
}

/** A `CallCounter`, here or in another process. */
export type Counting = Pick<CallCounter, 'heapBytes' | 'collectAll' | 'collectYoung' | 'begin' | 'take' | 'end'>;

/**
 * The counts of one call. Calls are made one after the other, in short windows. Polls and other work of the process run in
 * some of them only, so the lowest count of functions is that of the calls.
 */
export async function countPerCall(work: () => Promise<unknown>, counter: Counting): Promise<CallCounts> {
  for (let call = 0; call < WARMUP_CALLS; call++) await work();
  const bytes = await countBytes(work, counter);
  const retained = await countRetained(work, counter);
  await counter.begin();
  const windows: WindowCounts[] = [];
  while (windows.length < MIN_WINDOWS || (windows.length < MAX_WINDOWS && !isLowestConfirmed(windows))) {
    for (let call = 0; call < CALLS_PER_WINDOW; call++) await work();
    windows.push(await counter.take());
  }
  await counter.end();
  const { byFunction, ...counts } = windows.reduce((a, b) => (b.functions < a.functions ? b : a));
  const perCall = (count: number): number => Math.round(count / CALLS_PER_WINDOW);
  return {
    promises: perCall(counts.promises),
    timers: perCall(counts.timers),
    functions: perCall(counts.functions),
    bytes: Math.round(bytes),
    retained: Math.round(retained),
    byFunction: Object.fromEntries(Object.entries(byFunction).map(([name, count]) => [name, count / CALLS_PER_WINDOW])),
  };
}

/** Before the counter begins, because V8 does not optimise functions whose calls it counts. */
async function countBytes(work: () => Promise<unknown>, counter: Counting): Promise<number> {
  const windows: number[] = [];
  while (windows.length < MIN_WINDOWS) {
    const before = await counter.heapBytes();
    for (let call = 0; call < CALLS_PER_WINDOW; call++) await work();
    const bytes = (await counter.heapBytes()) - before;
    // A collection in the window frees more than the calls allocate.
    if (bytes > 0) windows.push(bytes / CALLS_PER_WINDOW);
  }
  windows.sort((a, b) => a - b);
  return windows[windows.length >> 1] ?? NaN;
}

/** Of calls that are in flight at once. Objects of the old generation that are not in use any more can retain later ones. */
async function countRetained(work: () => Promise<unknown>, counter: Counting): Promise<number> {
  const worker = async (): Promise<void> => {
    for (let call = 0; call < CALLS_PER_WORKER; call++) await work();
  };
  await counter.collectAll();
  const before = await counter.heapBytes();
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  await counter.collectYoung();
  return ((await counter.heapBytes()) - before) / (CONCURRENCY * CALLS_PER_WORKER);
}

/** Whether several windows have the lowest count. On a loaded machine, most windows have other work, too. */
function isLowestConfirmed(windows: readonly WindowCounts[]): boolean {
  const lowest = Math.min(...windows.map(({ functions }) => functions));
  return windows.filter(({ functions }) => functions - lowest < CALLS_PER_WINDOW).length > 2;
}
