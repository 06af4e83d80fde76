import type { Amounts, PlacedAmounts } from './usage-store.ts';

/** What one key did with one method since it was last taken. A class: V8 adds slowly to what a spread made. */
export class Count implements Amounts {
  readonly place: string;
  calls = 0;
  units = 0;
  errors = 0;
  bytes = 0;
  isIdle = false;

  constructor(place: string) {
    this.place = place;
  }

  /** Hands over what was counted, and begins anew. */
  take(): PlacedAmounts {
    const { place, calls, units, errors, bytes } = this;
    this.calls = this.units = this.errors = this.bytes = 0;
    return { place, calls, units, errors, bytes };
  }
}

/** Counts what each key does with one method of one network. A call costs one look-up and a few additions. */
export class MethodUsage {
  /** `<network> <method>` */
  readonly place: string;
  readonly #counts = new Map<string, Count>();
  readonly #onFirstUse: (key: string, count: Count) => void;

  /** @param onFirstUse hears of each count that was at zero until now */
  constructor(network: string, method: string, onFirstUse: (key: string, count: Count) => void) {
    this.place = `${network} ${method}`;
    this.#onFirstUse = onFirstUse;
  }

  /** How many keys it knows. */
  get size(): number {
    return this.#counts.size;
  }

  /**
   * @param key its id
   * @param units weight of a call that an upstream was asked for, else 0
   * @param bytes of the answer, as characters: JSON is ASCII but for names that people gave
   */
  add(key: string, units: number, isError: boolean, bytes: number): void {
    let count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, (count = new Count(this.place)));
    if (count.calls === 0) {
      count.isIdle = false;
      this.#onFirstUse(key, count);
    }
    count.calls += 1;
    count.units += units;
    count.bytes += bytes;
    if (isError) count.errors += 1;
  }

  /** Forgets keys that did nothing since the last time; their next call makes them anew. */
  removeIdle(): void {
    for (const [key, count] of this.#counts) {
      if (count.isIdle) this.#counts.delete(key);
      else count.isIdle = count.calls === 0;
    }
  }
}
