import { withReason, type Amounts, type PlacedAmounts } from './usage-store.ts';

/** Counts the calls of one key to one method since the last `take`. A class, because V8 updates spread objects slowly. */
export class Count implements Amounts {
  readonly place: string;
  calls = 0;
  units = 0;
  errors = 0;
  bytes = 0;
  isIdle = false;
  /** Whether the caller has a token. */
  readonly isToken: boolean;

  constructor(place: string, isToken: boolean) {
    this.place = place;
    this.isToken = isToken;
  }

  /** Returns the counted amounts and resets them. Stores have whole units: a fraction stays for the next time. */
  take(): PlacedAmounts {
    const { place, calls, errors, bytes } = this;
    const units = Math.floor(this.units + 1e-6);
    this.units = Math.max(0, this.units - units);
    this.calls = this.errors = this.bytes = 0;
    return { place, calls, units, errors, bytes };
  }
}

/** Counts the usage of one method of one network by key. A call costs one map lookup and a few additions. */
export class MethodUsage {
  /** `<network> <method>` */
  readonly place: string;
  readonly #counts = new Map<string, Count>();
  /** Counts of calls with an error, by `<key> <reason>`. */
  readonly #failures = new Map<string, Count>();
  readonly #onFirstUse: (key: string, count: Count) => void;

  /** @param onFirstUse called with each count that rises from zero */
  constructor(network: string, method: string, onFirstUse: (key: string, count: Count) => void) {
    this.place = `${network} ${method}`;
    this.#onFirstUse = onFirstUse;
  }

  /**
   * @param key id of the key
   * @param units request units of the call
   * @param reason of the error that the call got, of a bounded set; undefined: no error
   * @param bytes length of the response in characters, which is nearly its size: almost all JSON-RPC text is ASCII
   * @param isToken whether the key is the subject of tokens
   */
  add(key: string, units: number, reason: string | undefined, bytes: number, isToken = false): void {
    const counts = reason === undefined ? this.#counts : this.#failures;
    const name = reason === undefined ? key : `${key} ${reason}`;
    let count = counts.get(name);
    if (count === undefined) counts.set(name, (count = new Count(withReason(this.place, reason), isToken)));
    if (count.calls === 0) {
      count.isIdle = false;
      this.#onFirstUse(key, count);
    }
    count.calls += 1;
    count.units += units;
    count.bytes += bytes;
    if (reason !== undefined) count.errors += 1;
  }

  /** Removes keys without calls since the last run. */
  removeIdle(): void {
    for (const counts of [this.#counts, this.#failures])
      for (const [name, count] of counts) {
        if (count.isIdle) counts.delete(name);
        else count.isIdle = count.calls === 0;
      }
  }
}
