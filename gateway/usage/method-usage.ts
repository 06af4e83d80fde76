import type { Amounts } from './usage-store.ts';

/** A key that did nothing in so many collections in a row is forgotten soon after; its next call makes it anew. */
const idleMax = 30;

/** A class, since V8 adds slowly to what a spread made: 600 ns a call with 3000 of them, against 18. */
class Count implements Amounts {
  readonly key: string;
  calls = 0;
  units = 0;
  errors = 0;
  bytes = 0;
  /** Number of the collection. */
  collectedAt = 0;

  constructor(key: string) {
    this.key = key;
  }
}

/** Counts what each key does with one method of one network. A call costs one look-up and a few additions. */
export class MethodUsage {
  /** `<network> <method>` */
  readonly place: string;
  readonly #counts = new Map<string, Count>();
  /** Those that did something since the last collection. */
  #active: Count[] = [];
  #collections = 0;

  constructor(network: string, method: string) {
    this.place = `${network} ${method}`;
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
    if (count === undefined) this.#counts.set(key, (count = new Count(key)));
    if (count.calls === 0) this.#active.push(count);
    count.calls += 1;
    count.units += units;
    count.bytes += bytes;
    if (isError) count.errors += 1;
  }

  /** Hands over what was counted since the last time, and begins anew. */
  collect(take: (key: string, amounts: Readonly<Amounts>) => void): void {
    this.#collections += 1;
    if (this.#active.length > 0) this.#handOver(take);
    if (this.#collections % idleMax === 0 && this.#counts.size > 0) this.#forgetIdle();
  }

  #handOver(take: (key: string, amounts: Readonly<Amounts>) => void): void {
    for (const count of this.#active) {
      take(count.key, count);
      count.calls = count.units = count.errors = count.bytes = 0;
      count.collectedAt = this.#collections;
    }
    this.#active = [];
  }

  #forgetIdle(): void {
    for (const [key, { collectedAt }] of this.#counts) {
      if (this.#collections - collectedAt >= idleMax) this.#counts.delete(key);
    }
  }
}
