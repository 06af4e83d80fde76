import { clock, type Timer } from '../clock/clock.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { MethodUsage, type Count } from './method-usage.ts';
import { dayOf, type Amounts, type UsageBatch, type UsageStore } from './usage-store.ts';

const WRITE_INTERVAL_MS = 1_000;
const FORGET_INTERVAL_MS = 30_000;

/** Keys per write, or a tenth of the waiting keys if that is more: so each key is written within ten seconds. */
const MIN_KEYS_PER_WRITE = 1_000;
const KEYS_PER_WRITE_RATIO = 0.1;

/**
 * Counts the usage of keys and writes it to the store each second, off the hot path. With thousands of keys it writes
 * those that wait longest, so that many calls of a key share a write. A batch that the store did not confirm is sent
 * again unchanged, before new ones, so nothing is lost or counted twice during an outage. Meanwhile, memory has one sum
 * per key, day and method.
 */
export class UsageLedger {
  readonly #store: Pick<UsageStore, 'isUp' | 'add'>;
  readonly #onWritten: ((key: string, amounts: Readonly<Amounts>) => void) | undefined;
  readonly #methods = new Map<string, MethodUsage>();
  readonly #timers: readonly Timer[];
  /** Counts above zero by key; keys that wait longest come first. */
  readonly #active = new Map<string, Count[]>();
  #day = dayOf(clock.unixMs());
  /** Batches that the store has not confirmed, in the order of writing. */
  readonly #pending: (readonly UsageBatch[])[] = [];
  #number = 0;
  #writing: Promise<void> | undefined;

  /** @param onWritten called with the amounts of each key, but of no subject of tokens, and method when they are taken for a write */
  constructor(store: Pick<UsageStore, 'isUp' | 'add'>, onWritten?: (key: string, amounts: Readonly<Amounts>) => void) {
    this.#store = store;
    this.#onWritten = onWritten;
    this.#timers = [
      clock.setInterval(() => void this.write(), WRITE_INTERVAL_MS).unref(),
      clock
        .setInterval(() => {
          for (const usage of this.#methods.values()) usage.removeIdle();
        }, FORGET_INTERVAL_MS)
        .unref(),
    ];
  }

  /** Returns the counter of one method of one network, always the same object. */
  methodUsage(network: string, method: string): MethodUsage {
    const usage = new MethodUsage(network, method, this.#addActive);
    const existing = this.#methods.get(usage.place);
    if (existing === undefined) this.#methods.set(usage.place, usage);
    return existing ?? usage;
  }

  /** Drops the counters of a removed network. Usage counted so far is still written. */
  removeNetwork(network: string): void {
    for (const place of this.#methods.keys()) if (place.startsWith(`${network} `)) this.#methods.delete(place);
  }

  /**
   * Writes usage, unless a write is in progress. Never rejects.
   * @param maxKeys default: 1,000, or a tenth of the waiting keys if that is more
   */
  write(maxKeys?: number): Promise<void> {
    return (this.#writing ??= this.#write(maxKeys).finally(() => {
      this.#writing = undefined;
    }));
  }

  /** Writes all remaining usage, if the store is available. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clock.clearInterval(timer);
    await this.#writing;
    await this.write(Infinity);
  }

  readonly #addActive = (key: string, count: Count): void => {
    const counts = this.#active.get(key);
    if (counts === undefined) this.#active.set(key, [count]);
    else counts.push(count);
  };

  async #write(maxKeys = Math.max(MIN_KEYS_PER_WRITE, this.#active.size * KEYS_PER_WRITE_RATIO)): Promise<void> {
    const today = dayOf(clock.unixMs());
    // In one step, because later calls are of the new day.
    if (today !== this.#day) this.#pending.push([...this.#active.keys()].map((key) => this.#take(key)));
    this.#day = today;
    if (!this.#store.isUp || !(await this.#flush()) || this.#active.size === 0) return;
    this.#pending.push(await this.#takeSome(maxKeys));
    await this.#flush();
  }

  /** @returns whether the store has confirmed all batches */
  async #flush(): Promise<boolean> {
    for (let [first] = this.#pending; first !== undefined; [first] = this.#pending) {
      const unconfirmed = await this.#store.add(first);
      if (unconfirmed.length > 0) {
        this.#pending[0] = unconfirmed;
        return false;
      }
      this.#pending.shift();
    }
    return true;
  }

  /** Takes the amounts of some keys, in time slices. */
  async #takeSome(maxKeys: number): Promise<UsageBatch[]> {
    const batches: UsageBatch[] = [];
    // A key that is used meanwhile is added again, at the end, and waits for the next time.
    for (const key of [...this.#active.keys()].slice(0, maxKeys)) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      batches.push(this.#take(key));
    }
    return batches;
  }

  #take(key: string): UsageBatch {
    const counts = this.#active.get(key) ?? [];
    const amounts = counts.map((count) => count.take());
    this.#active.delete(key);
    // Subjects are unbounded: a metric with each of them would be, too.
    for (const [index, each] of amounts.entries()) if (counts[index]?.isToken === false) this.#onWritten?.(key, each);
    return { key, day: this.#day, number: ++this.#number, amounts };
  }
}
