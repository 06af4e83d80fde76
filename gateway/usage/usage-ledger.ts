import { MethodUsage } from './method-usage.ts';
import { addTo, dayOf, newAmounts, type Amounts, type UsageBatch, type UsageStore } from './usage-store.ts';

const writeEveryMs = 1_000;

/** Keys that are written at a time: where there are more, each second those that wait longest, all within ten seconds. */
const keysAtOnce = 1_000;
const shareAtOnce = 1 / 10;

/** What keys did and the store does not have yet, by day, key, and `<network> <method>`. Those that wait longest first. */
type Unwritten = Map<string, Map<string, ByPlace>>;
type ByPlace = Map<string, Amounts>;

/**
 * Counts what keys do, and writes it to the store each second, off the hot path: of thousands of keys, each of which calls
 * once a second, some each second, so that many calls of a key go together. What the store did not confirm is given to it
 * again as it was, before anything new: so nothing is lost or counted twice while it is away, and what waits meanwhile is
 * one sum for each key, day and method.
 */
export class UsageLedger {
  readonly #store: UsageStore;
  readonly #onCollected: ((key: string, amounts: Readonly<Amounts>) => void) | undefined;
  readonly #methods = new Map<string, MethodUsage>();
  readonly #timer: NodeJS.Timeout;
  readonly #unwritten: Unwritten = new Map();
  #unconfirmed: readonly UsageBatch[] = [];
  #number = 0;
  #writing: Promise<void> | undefined;

  /** @param onCollected hears of each key what it did with each method, about once a second */
  constructor(store: UsageStore, onCollected?: (key: string, amounts: Readonly<Amounts>) => void) {
    this.#store = store;
    this.#onCollected = onCollected;
    this.#timer = setInterval(() => void this.write(), writeEveryMs).unref();
  }

  /** The counter of one method of one network: the same one however often it is asked for. */
  methodUsage(network: string, method: string): MethodUsage {
    const usage = new MethodUsage(network, method);
    const known = this.#methods.get(usage.place);
    if (known === undefined) this.#methods.set(usage.place, usage);
    return known ?? usage;
  }

  /** A network is no more: what was counted is written all the same. */
  forget(network: string): void {
    this.#collect();
    for (const place of this.#methods.keys()) if (place.startsWith(`${network} `)) this.#methods.delete(place);
  }

  /** One at a time: a store that is slow is not asked twice. Never rejects. @param atMost keys; unset: as many as is their turn */
  write(atMost?: number): Promise<void> {
    this.#collect();
    return (this.#writing ??= this.#writeSome(atMost).finally(() => {
      this.#writing = undefined;
    }));
  }

  /** Writes the rest, as far as the store answers. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.write(Infinity);
    await this.#store.close();
  }

  #collect(): void {
    const day = dayOf(Date.now());
    const keys = this.#unwritten.get(day) ?? new Map<string, ByPlace>();
    this.#unwritten.set(day, keys);
    for (const usage of this.#methods.values()) {
      usage.collect((key, amounts) => {
        this.#onCollected?.(key, amounts);
        let places = keys.get(key);
        if (places === undefined) keys.set(key, (places = new Map<string, Amounts>()));
        let sum = places.get(usage.place);
        if (sum === undefined) places.set(usage.place, (sum = newAmounts()));
        addTo(sum, amounts);
      });
    }
  }

  async #writeSome(atMost?: number): Promise<void> {
    if (!this.#store.up) return;
    if (this.#unconfirmed.length > 0) this.#unconfirmed = await this.#store.add(this.#unconfirmed);
    if (this.#unconfirmed.length > 0) return;
    const batches = this.#take(atMost);
    if (batches.length > 0) this.#unconfirmed = await this.#store.add(batches);
  }

  #take(atMost?: number): UsageBatch[] {
    const batches: UsageBatch[] = [];
    for (const [day, keys] of this.#unwritten) {
      const count = atMost ?? Math.max(keysAtOnce, keys.size * shareAtOnce);
      for (const [key, amounts] of keys) {
        if (batches.length >= count) return batches;
        batches.push({ key, day, number: ++this.#number, amounts });
        keys.delete(key);
      }
      this.#unwritten.delete(day);
    }
    return batches;
  }
}
