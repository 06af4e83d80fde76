/** `high`: the heaviest owners and requests without a key are rejected. `critical`: only work in flight goes on. */
export type Pressure = 'normal' | 'high' | 'critical';

export const pressures: readonly Pressure[] = ['normal', 'high', 'critical'];

/** Memory of the process. */
export interface MemoryReading {
  /** Objects of the JavaScript heap after its last collection, and what the heap may have. */
  readonly collectedBytes: number;
  readonly heapLimitBytes: number;
  /** Memory outside the heap, but of its objects: buffers. */
  readonly externalBytes: number;
  /** Resident memory: with code, stacks, garbage, and what the allocator has not given back. */
  readonly residentBytes: number;
}

/** Parts of its limit from which on the memory of a process is high, or critical. */
export const HIGH_PART = 0.7;
export const CRITICAL_PART = 0.85;
const RELEASE = 0.6;
/** Resident memory counts only if it is high for this time: a collection may be due. */
const RESIDENT_MS = 5_000;
/** Time without growth after which resident memory counts as what the allocator keeps. It counts again when it grows. */
const KEPT_MS = 10_000;
const GROWTH = 1.05;

/** Decides how much of its memory a process uses. Time is passed in. */
export class MemoryPressure {
  readonly #limitBytes: number;
  #state: Pressure = 'normal';
  /** Time since which resident memory is high; undefined: it is not. */
  #residentSince: number | undefined;
  /** The most resident memory so far, and when it last grew. */
  #peakBytes = 0;
  #grewAt = 0;

  /** @param limitBytes what the process may use */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The part of the limit that is used, by the heap after a collection and what is outside it. */
  usedPart({ collectedBytes, heapLimitBytes, externalBytes }: MemoryReading): number {
    return Math.max((collectedBytes + externalBytes) / this.#limitBytes, collectedBytes / heapLimitBytes);
  }

  /** @param now in milliseconds */
  update(reading: MemoryReading, now: number): Pressure {
    const used = this.usedPart(reading);
    const isResidentHigh = this.#isResidentHigh(reading.residentBytes, now);
    if (used >= CRITICAL_PART || (this.#state === 'critical' && used >= HIGH_PART)) this.#state = 'critical';
    else if (used >= HIGH_PART || isResidentHigh || (this.#state !== 'normal' && used >= RELEASE)) this.#state = 'high';
    else this.#state = 'normal';
    return this.#state;
  }

  #isResidentHigh(residentBytes: number, now: number): boolean {
    if (residentBytes < HIGH_PART * this.#limitBytes) {
      this.#residentSince = undefined;
      this.#peakBytes = 0;
      return false;
    }
    if (residentBytes > this.#peakBytes * GROWTH) {
      this.#peakBytes = residentBytes;
      this.#grewAt = now;
    }
    this.#residentSince ??= now;
    return now - this.#residentSince >= RESIDENT_MS && now - this.#grewAt < KEPT_MS;
  }
}
