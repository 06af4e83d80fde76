import type { Amounts } from './usage-store.ts';

/** A key that did nothing in so many collections in a row is forgotten; its next call makes it anew. */
const idleMax = 60;

/** A class, since V8 adds slowly to what a spread made: 600 ns a call with 3000 of them, against 18. */
class Count implements Amounts {
  calls = 0;
  units = 0;
  errors = 0;
  bytes = 0;
  idleFor = 0;
}

/** Counts what each key does with one method of one network. A call costs one look-up and a few additions. */
export class MethodUsage {
  /** `<network> <method>` */
  readonly place: string;
  readonly #counts = new Map<string, Count>();

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
    if (count === undefined) this.#counts.set(key, (count = new Count()));
    count.calls += 1;
    count.units += units;
    count.bytes += bytes;
    if (isError) count.errors += 1;
  }

  /** Hands over what was counted since the last time, and begins anew. */
  collect(take: (key: string, amounts: Readonly<Amounts>) => void): void {
    for (const [key, count] of this.#counts) {
      if (count.calls > 0) {
        take(key, count);
        count.calls = count.units = count.errors = count.bytes = count.idleFor = 0;
      } else if (++count.idleFor >= idleMax) this.#counts.delete(key);
    }
  }
}
