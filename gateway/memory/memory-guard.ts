import { totalmem } from 'node:os';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MAX_ADDRESSES, type Account } from '../admission/account.ts';
import { clock, type Timer } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { cgroupLimit } from './cgroup-limit.ts';
import { CRITICAL_PART, HIGH_PART, MemoryPressure, type MemoryReading, type Pressure } from './memory-pressure.ts';

const CHECK_INTERVAL_MS = 100;
/** Part of the limit below which the interval is longer. */
const CALM_PART = 0.4;
const CALM_INTERVAL_MS = 500;
/** Resident memory counts after 5 s only. It is read from a file, which takes as long as the rest of ten checks. */
const RESIDENT_INTERVAL_MS = 1_000;
/** A check is made early after bytes of this part of the limit: some 100 MB can be buffered in 100 ms. */
const CHECK_PART = 0.02;
/** Interval at which one more owner loses what it has open, while memory is high. The collection of the rest takes as long. */
const RELIEF_INTERVAL_MS = 1_000;
/** The heap is collected early if it has grown by this part of the limit since the last time, and is high. */
const STALE_PART = 0.1;
/** Interval of forgetting: half of the bytes of an owner are forgotten in 5 min. */
const FADE_INTERVAL_MS = 10_000;
const FADE_FACTOR = 0.5 ** (FADE_INTERVAL_MS / 300_000);
const FORGOTTEN_BYTES = 1_000;
/** An owner is heavy if it has this part of the bytes of all, and of the limit, and more than the others usually have. */
const HEAVY_PART = 1 / 8;
const HEAVY_LIMIT_PART = 0.05;
const HEAVY_FACTOR = 2;
/** The process itself may use so much without a warning. */
const BASELINE_PART = 0.5;

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
  readonly #fading: Timer;
  #checking: Timer;
  #isClosed = false;
  #collect: ReturnType<typeof exposedCollector> | undefined;
  #collectedBytes = getHeapStatistics().used_heap_size;
  /** Owners that have lost what they had open, since memory became high. */
  readonly #relieved = new Set<string>();
  #relievedAt = -Infinity;
  #collectedAt = -Infinity;
  /** Pressure. Only `#check` changes it. */
  state: Pressure = 'normal';
  #residentBytes = 0;
  #residentAt = -Infinity;
  /** Bytes since the last check. */
  #uncheckedBytes = 0;
  #isCheckDue = false;
  /** Number of bytes from which on an owner is heavy. */
  #heavyBytes = Infinity;

  /** @param limitBytes undefined: the limit of the control group, else the memory of the machine */
  constructor(limitBytes: number | undefined) {
    this.limitBytes = limitBytes ?? Math.min(cgroupLimit(), totalmem());
    this.#pressure = new MemoryPressure(this.limitBytes);
    this.#observer = new PerformanceObserver((list) => {
      const isMajor = list.getEntries().some((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
      if (isMajor) this.#collectedBytes = getHeapStatistics().used_heap_size;
    });
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#checking = clock.setTimeout(this.#check, CHECK_INTERVAL_MS).unref();
    this.#fading = clock.setInterval(this.#fade, FADE_INTERVAL_MS).unref();
  }

  /** Whether the process uses so much by itself that little traffic makes memory high. To be read when it has started. */
  get isBaselineHigh(): boolean {
    return process.memoryUsage.rss() > BASELINE_PART * this.limitBytes;
  }

  /** Calls a function every second while memory is high. */
  addRelief(relief: Relief): void {
    this.#reliefs.push(relief);
  }

  /** Counts further bytes of an owner. Memory without an account most likely belongs to the owner with the most bytes. */
  weigh({ memoryOwner: { name, parent } }: Account, bytes: number): void {
    this.#uncheckedBytes += bytes;
    const isWeighed = parent === undefined || this.#bytesOf.size < MAX_ADDRESSES || this.#bytesOf.has(name);
    if (isWeighed) this.#bytesOf.set(name, (this.#bytesOf.get(name) ?? 0) + bytes);
    if (this.#isCheckDue || this.#uncheckedBytes < CHECK_PART * this.limitBytes) return;
    this.#isCheckDue = true;
    // Not now: the caller may be a part of what is closed to free memory.
    clock.setImmediate(this.#check);
  }

  /** Whether the owner may take bytes that can be rejected: of a response, for example. */
  canTake({ memoryOwner }: Account): boolean {
    return this.state === 'normal' || !this.#isHeavy(memoryOwner.name);
  }

  /** Admits a request; to be called before it begins. @throws RpcError memory-pressure */
  admit(account: Account): void {
    if (this.state === 'normal') return;
    if (this.state === 'critical' || account.parent !== undefined || this.#isHeavy(account.name))
      throw new RpcError('memory-pressure');
  }

  close(): void {
    this.#isClosed = true;
    this.#observer.disconnect();
    clock.clearTimeout(this.#checking);
    clock.clearInterval(this.#fading);
  }

  #isHeavy(name: string): boolean {
    return (this.#bytesOf.get(name) ?? 0) >= this.#heavyBytes;
  }

  /** Finds the bytes of a heavy owner. If no owner is heavy, memory is used by something else. */
  #findHeavyBytes(): number {
    const all = Float64Array.from(this.#bytesOf.values()).sort();
    const total = all.reduce((sum, bytes) => sum + bytes, 0);
    // The lower median of all but the one with the most.
    const usual = all.length < 2 ? 0 : (all[(all.length - 2) >> 1] as number);
    return Math.max(HEAVY_PART * total, HEAVY_LIMIT_PART * this.limitBytes, HEAVY_FACTOR * usual);
  }

  readonly #check = (): void => {
    this.#uncheckedBytes = 0;
    this.#isCheckDue = false;
    const now = clock.now();
    const { used_heap_size: heapBytes, heap_size_limit: heapLimitBytes, external_memory } = getHeapStatistics();
    this.#collectedBytes = Math.min(this.#collectedBytes, heapBytes);
    const part = Math.max((heapBytes + external_memory) / this.limitBytes, heapBytes / heapLimitBytes);
    clock.clearTimeout(this.#checking);
    const intervalMs = part < CALM_PART ? CALM_INTERVAL_MS : CHECK_INTERVAL_MS;
    if (!this.#isClosed) this.#checking = clock.setTimeout(this.#check, intervalMs).unref();
    const isHigh = part >= HIGH_PART;
    const stale = heapBytes - this.#collectedBytes;
    if (isHigh && stale >= STALE_PART * Math.min(this.limitBytes, heapLimitBytes)) this.#collectNow(now);
    // Buffers may be garbage, too: no request is rejected, and nothing is closed, before they are collected.
    if (!this.#isCollected(now)) return;
    const state = (this.state = this.#pressure.update(this.#read(now), now));
    if (state === 'normal') this.#relieved.clear();
    else if (now - this.#relievedAt >= RELIEF_INTERVAL_MS) this.#relieve(state, now);
  };

  /** Collects before memory becomes high, and before each relief. @returns false if it is high by what may be garbage */
  #isCollected(now: number): boolean {
    if (this.state !== 'normal') {
      if (now - this.#relievedAt >= RELIEF_INTERVAL_MS) this.#collectNow(now);
      return true;
    }
    const used = this.#pressure.usedPart(this.#read(now));
    if (used < HIGH_PART) return true;
    this.#collectNow(now);
    // The last collection is too recent for another one. When it is critical, there is no time.
    return this.#collectedAt === now || used >= CRITICAL_PART;
  }

  #read(now: number): MemoryReading {
    const { heap_size_limit: heapLimitBytes, external_memory: externalBytes } = getHeapStatistics();
    const residentBytes = this.#readResident(now);
    return { collectedBytes: this.#collectedBytes, heapLimitBytes, externalBytes, residentBytes };
  }

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
    // V8 counts the Buffers that a collection frees when the next one begins.
    this.#collect({ type: 'minor' });
    this.#collectedBytes = getHeapStatistics().used_heap_size;
  }

  #relieve(state: Pressure, now: number): void {
    this.#relievedAt = now;
    this.#heavyBytes = this.#findHeavyBytes();
    let owner: string | undefined;
    // When it is critical, that of the heaviest one is closed, whatever it has sent.
    let most = state === 'critical' ? 0 : this.#heavyBytes - 1;
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
function exposedCollector(): (options?: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as ReturnType<typeof exposedCollector>;
}
