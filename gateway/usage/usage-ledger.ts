import { MethodUsage } from './method-usage.ts';
import { addTo, dayOf, newAmounts, type Amounts, type UsageBatch, type UsageStore } from './usage-store.ts';

const writeEveryMs = 1_000;

/** What keys did and the store does not have yet, by key, day, and `<network> <method>`. */
type Unwritten = Map<string, { key: string; day: string; amounts: Map<string, Amounts> }>;

/**
 * Counts what keys do, and writes it to the store each second, off the hot path. What the store did not confirm is
 * given to it again as it was, before anything new: so nothing is lost or counted twice while it is away, and what
 * waits meanwhile is one sum for each key, day and method.
 */
export class UsageLedger {
  readonly #store: UsageStore;
  readonly #onCollected: ((key: string, amounts: Readonly<Amounts>) => void) | undefined;
  readonly #methods = new Map<string, MethodUsage>();
  readonly #timer: NodeJS.Timeout;
  #unwritten: Unwritten = new Map();
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

  /** Writes what was counted so far. One at a time: a store that is slow is not asked twice. Never rejects. */
  write(): Promise<void> {
    this.#collect();
    return (this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    }));
  }

  /** Writes the rest, as far as the store answers. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.write();
    await this.#store.close();
  }

  #collect(): void {
    const day = dayOf(Date.now());
    for (const usage of this.#methods.values()) {
      usage.collect((key, amounts) => {
        this.#onCollected?.(key, amounts);
        const name = `${key} ${day}`;
        let entry = this.#unwritten.get(name);
        if (entry === undefined) this.#unwritten.set(name, (entry = { key, day, amounts: new Map() }));
        const sum = entry.amounts.get(usage.place) ?? newAmounts();
        addTo(sum, amounts);
        entry.amounts.set(usage.place, sum);
      });
    }
  }

  async #writeAll(): Promise<void> {
    if (!this.#store.up) return;
    if (this.#unconfirmed.length > 0) this.#unconfirmed = await this.#store.add(this.#unconfirmed);
    if (this.#unconfirmed.length > 0 || this.#unwritten.size === 0) return;
    const batches = [...this.#unwritten.values()].map((entry) => ({ ...entry, number: ++this.#number }));
    this.#unwritten = new Map();
    this.#unconfirmed = await this.#store.add(batches);
  }
}
