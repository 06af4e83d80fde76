import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Holder } from './holder.ts';
import { MemoryPressure, type MemoryReading, type Pressure } from './memory-pressure.ts';

const CHECK_INTERVAL_MS = 100;
/** Below this part of the limit, four of five checks are left out: idle, they cost 0.9 ms of CPU per second. */
const CALM_PART = 0.4;
const CALM_CHECKS = 5;
/** Resident memory counts after 5 s only. It is read from a file, which takes as long as the rest of ten checks. */
const RESIDENT_INTERVAL_MS = 1_000;
/** A check is made early after bytes of this part of the limit: some 100 MB can be buffered in 100 ms. */
const CHECK_PART = 0.02;
/** Interval at which one more owner loses what it has open, while memory is high. The collection of the rest takes as long. */
const RELIEF_INTERVAL_MS = 1_000;
/** The heap is collected early if it has grown by this part of the limit since the last time, and is high. */
const STALE_PART = 0.1;
const HIGH_PART = 0.7;
/** What an owner has sent and received is forgotten by half in 5 min. */
const FADE_INTERVAL_MS = 10_000;
const FADE_FACTOR = 0.5 ** (FADE_INTERVAL_MS / 300_000);
const FORGOTTEN_BYTES = 1_000;
/** An owner is heavy if it has this part of the bytes of all. */
const HEAVY_PART = 1 / 8;

const CGROUP_LIMITS = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];

/** Frees memory: of the owner, which is undefined if none is known, and of whatever can be done without. */
export type Relief = (owner: string | undefined, pressure: Pressure) => void;

/**
 * Compares the memory that the process really uses with what it may use, whatever the accounts of `MemoryBudget` say. When
 * it is high, requests without a key and those of the heaviest owners are rejected, and what the heaviest one has open is
 * closed. When it is critical, only requests in flight go on.
 */
export class MemoryGuard {
  readonly limitBytes: number;
  readonly #pressure: MemoryPressure;
  /** Bytes sent and received by owner. */
  readonly #bytesOf = new Map<string, number>();
  readonly #reliefs: Relief[] = [];
  readonly #observer: PerformanceObserver;
  readonly #timers: NodeJS.Timeout[];
  #collect: (() => void) | undefined;
  #collectedBytes = getHeapStatistics().used_heap_size;
  /** Owners that have lost what they had open, since memory became high. */
  readonly #relieved = new Set<string>();
  #relievedAt = -Infinity;
  #collectedAt = -Infinity;
  #skips = 0;
  #skipped = 0;
  #residentBytes = 0;
  #residentAt = -Infinity;
  /** Bytes since the last check. */
  #uncheckedBytes = 0;

  /** @param limitBytes undefined: the limit of the control group, else the memory of the machine */
  constructor(limitBytes: number | undefined) {
    this.limitBytes = limitBytes ?? Math.min(cgroupLimit(), totalmem());
    this.#pressure = new MemoryPressure(this.limitBytes);
    this.#observer = new PerformanceObserver((list) => {
      const isMajor = list.getEntries().some((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
      if (isMajor) this.#collectedBytes = getHeapStatistics().used_heap_size;
    });
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#timers = [
      setInterval(this.#tick, CHECK_INTERVAL_MS).unref(),
      setInterval(this.#fade, FADE_INTERVAL_MS).unref(),
    ];
  }

  get state(): Pressure {
    return this.#pressure.state;
  }

  /** Calls a function every second while memory is high. */
  addRelief(relief: Relief): void {
    this.#reliefs.push(relief);
  }

  /** Counts bytes of an owner. Memory that nobody accounts most likely is of the owner with the most of them. */
  weigh({ name }: Holder, bytes: number): void {
    if (bytes <= 0) return;
    this.#bytesOf.set(name, (this.#bytesOf.get(name) ?? 0) + bytes);
    this.#uncheckedBytes += bytes;
    if (this.#uncheckedBytes >= CHECK_PART * this.limitBytes) this.#check();
  }

  /** As `weigh`, for bytes that can be rejected: of a response, for example. @throws RpcError memory-pressure */
  take(holder: Holder, bytes: number): void {
    if (this.#pressure.state !== 'normal' && this.#isHeavy(holder.name)) throw new RpcError('memory-pressure');
    this.weigh(holder, bytes);
  }

  /** To be called before a request begins. @throws RpcError memory-pressure */
  admit(holder: Holder): void {
    const { state } = this.#pressure;
    if (state === 'normal') return;
    if (state === 'critical' || holder.isAddress || this.#isHeavy(holder.name)) throw new RpcError('memory-pressure');
  }

  close(): void {
    this.#observer.disconnect();
    for (const timer of this.#timers) clearInterval(timer);
  }

  #isHeavy(name: string): boolean {
    let total = 0;
    for (const bytes of this.#bytesOf.values()) total += bytes;
    return (this.#bytesOf.get(name) ?? 0) >= HEAVY_PART * total;
  }

  readonly #tick = (): void => {
    if (this.#skipped < this.#skips) this.#skipped++;
    else this.#check();
  };

  readonly #check = (): void => {
    this.#uncheckedBytes = 0;
    this.#skipped = 0;
    const now = performance.now();
    const {
      used_heap_size: heapBytes,
      heap_size_limit: heapLimitBytes,
      external_memory: externalBytes,
    } = getHeapStatistics();
    this.#collectedBytes = Math.min(this.#collectedBytes, heapBytes);
    const part = Math.max((heapBytes + externalBytes) / this.limitBytes, heapBytes / heapLimitBytes);
    this.#skips = part < CALM_PART ? CALM_CHECKS - 1 : 0;
    const isHigh = part >= HIGH_PART;
    const stale = heapBytes - this.#collectedBytes;
    if (isHigh && stale >= STALE_PART * Math.min(this.limitBytes, heapLimitBytes)) this.#collectNow(now);
    const reading: MemoryReading = {
      collectedBytes: this.#collectedBytes,
      heapLimitBytes,
      externalBytes,
      residentBytes: this.#readResident(now),
    };
    const state = this.#pressure.update(reading, now);
    if (state === 'normal') this.#relieved.clear();
    else if (now - this.#relievedAt >= RELIEF_INTERVAL_MS) this.#relieve(state, now);
  };

  #readResident(now: number): number {
    if (now - this.#residentAt >= RESIDENT_INTERVAL_MS) {
      this.#residentBytes = process.memoryUsage.rss();
      this.#residentAt = now;
    }
    return this.#residentBytes;
  }

  /** A collection takes up to 0.3 s. Without it, V8 lets garbage grow to half of the heap, which may be above the limit. */
  #collectNow(now: number): void {
    if (now - this.#collectedAt < RELIEF_INTERVAL_MS) return;
    this.#collectedAt = now;
    this.#collect ??= exposedCollector();
    this.#collect();
    this.#collectedBytes = getHeapStatistics().used_heap_size;
  }

  #relieve(state: Pressure, now: number): void {
    this.#relievedAt = now;
    let owner: string | undefined;
    let most = 0;
    for (const [name, bytes] of this.#bytesOf) {
      if (bytes > most && !this.#relieved.has(name)) [owner, most] = [name, bytes];
    }
    if (owner === undefined) this.#relieved.clear();
    else this.#relieved.add(owner);
    for (const relief of this.#reliefs) relief(owner, state);
    this.#collectNow(now);
  }

  readonly #fade = (): void => {
    for (const [name, bytes] of this.#bytesOf) {
      const left = bytes * FADE_FACTOR;
      if (left < FORGOTTEN_BYTES) this.#bytesOf.delete(name);
      else this.#bytesOf.set(name, left);
    }
  };
}

/** The type of an entry has no `detail`. */
function kindOf(entry: object): number | undefined {
  return (entry as { readonly detail?: { readonly kind?: number } }).detail?.kind;
}

/** V8's own function for a full collection. */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Infinity: none. */
function cgroupLimit(): number {
  for (const file of CGROUP_LIMITS) {
    try {
      const bytes = Number(readFileSync(file, 'utf8'));
      if (bytes > 0) return bytes;
    } catch {
      // Another version of control groups, or none.
    }
  }
  return Infinity;
}
