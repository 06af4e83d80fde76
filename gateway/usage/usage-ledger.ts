import { MethodUsage, type Count } from './method-usage.ts';
import { dayOf, type Amounts, type UsageBatch, type UsageStore } from './usage-store.ts';

const writeIntervalMs = 1_000;
const forgetIntervalMs = 30_000;

/** Keys that are written at a time; where more wait, a tenth of them, so that each has its turn within ten seconds. */
const minKeysPerWrite = 1_000;
const shareOfKeysPerWrite = 0.1;

/**
 * Counts what keys do, and writes it to the store each second, off the hot path: of thousands of keys those that wait
 * longest, so that many calls of a key go together. What the store did not confirm is given to it again as it was, before
 * anything new: so nothing is lost or counted twice while it is away, and what waits meanwhile is one sum for each key,
 * day and method.
 */
export class UsageLedger {
  readonly #store: UsageStore;
  readonly #onWritten: ((key: string, amounts: Readonly<Amounts>) => void) | undefined;
  readonly #methods = new Map<string, MethodUsage>();
  readonly #timers: readonly NodeJS.Timeout[];
  /** Counts that are above zero, by key. Keys that wait longest come first. */
  readonly #active = new Map<string, Count[]>();
  #day = dayOf(Date.now());
  /** Given to the store, then what is of a day that is over: one list after the other. */
  readonly #pending: (readonly UsageBatch[])[] = [];
  #number = 0;
  #writing: Promise<void> | undefined;

  /** @param onWritten hears of each key what it did with each method, as often as that is written */
  constructor(store: UsageStore, onWritten?: (key: string, amounts: Readonly<Amounts>) => void) {
    this.#store = store;
    this.#onWritten = onWritten;
    this.#timers = [
      setInterval(() => void this.write(), writeIntervalMs).unref(),
      setInterval(() => {
        for (const usage of this.#methods.values()) usage.removeIdle();
      }, forgetIntervalMs).unref(),
    ];
  }

  /** The counter of one method of one network: the same one however often it is asked for. */
  methodUsage(network: string, method: string): MethodUsage {
    const usage = new MethodUsage(network, method, this.#begin);
    const known = this.#methods.get(usage.place);
    if (known === undefined) this.#methods.set(usage.place, usage);
    return known ?? usage;
  }

  /** A network is no more: what was counted is written all the same. */
  removeNetwork(network: string): void {
    for (const place of this.#methods.keys()) if (place.startsWith(`${network} `)) this.#methods.delete(place);
  }

  /**
   * One at a time: a store that is slow is not asked twice. Never rejects.
   * @param maxKeys keys; unset: those whose turn it is
   */
  write(maxKeys?: number): Promise<void> {
    return (this.#writing ??= this.#write(maxKeys).finally(() => {
      this.#writing = undefined;
    }));
  }

  /** Writes the rest, as far as the store answers. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#writing;
    await this.write(Infinity);
    await this.#store.close();
  }

  readonly #begin = (key: string, count: Count): void => {
    const counts = this.#active.get(key);
    if (counts === undefined) this.#active.set(key, [count]);
    else counts.push(count);
  };

  async #write(maxKeys = Math.max(minKeysPerWrite, this.#active.size * shareOfKeysPerWrite)): Promise<void> {
    const today = dayOf(Date.now());
    if (today !== this.#day) this.#pending.push(this.#take(Infinity));
    this.#day = today;
    if (!this.#store.isUp || !(await this.#flush()) || this.#active.size === 0) return;
    this.#pending.push(this.#take(maxKeys));
    await this.#flush();
  }

  /** @returns whether the store has confirmed all of it */
  async #flush(): Promise<boolean> {
    for (let [first] = this.#pending; first !== undefined; [first] = this.#pending) {
      const left = await this.#store.add(first);
      if (left.length > 0) {
        this.#pending[0] = left;
        return false;
      }
      this.#pending.shift();
    }
    return true;
  }

  #take(maxKeys: number): UsageBatch[] {
    const batches: UsageBatch[] = [];
    for (const [key, counts] of this.#active) {
      if (batches.length >= maxKeys) break;
      this.#active.delete(key);
      const amounts = counts.map((count) => count.take());
      for (const each of amounts) this.#onWritten?.(key, each);
      batches.push({ key, day: this.#day, number: ++this.#number, amounts });
    }
    return batches;
  }
}
