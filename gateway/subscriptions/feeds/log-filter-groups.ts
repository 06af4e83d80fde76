import { matchesLog, logFilterKey, type Log, type LogFilter } from './log-filter.ts';
import type { Subscriber } from './subscriber.ts';
import type { LogsBloom } from './logs-bloom.ts';

/** The subscribers with equal filters. */
export interface LogFilterGroup {
  readonly filter: LogFilter;
  /** Each with the number of the last block before it joined. */
  readonly subscribers: Map<Subscriber, number>;
}

/** Limit of addresses and filters to compare with a bloom filter. */
const MAX_BLOOM_CHECKS = 2_000;

/** Finds the subscribers of a log by its address, so that filters for other contracts take no time. */
export class LogFilterGroups {
  readonly #byKey = new Map<string, LogFilterGroup>();
  readonly #byAddress = new Map<string, Set<LogFilterGroup>>();
  readonly #anyAddress = new Set<LogFilterGroup>();

  get size(): number {
    return this.#byKey.size;
  }

  /** @param since number of the last block before it joined  @returns a function that removes the subscriber */
  add(filter: LogFilter, subscriber: Subscriber, since: number): () => void {
    const key = logFilterKey(filter);
    let group = this.#byKey.get(key);
    if (group === undefined) {
      group = { filter, subscribers: new Map() };
      this.#byKey.set(key, group);
      for (const groups of this.#setsFor(filter)) groups.add(group);
    }
    const { subscribers } = group;
    subscribers.set(subscriber, since);
    return () => {
      subscribers.delete(subscriber);
      if (subscribers.size === 0 && this.#byKey.delete(key)) this.#removeGroup(group);
    };
  }

  /** Whether a block with this bloom filter may have logs for a subscriber. */
  mayMatch(bloom: LogsBloom): boolean {
    // So many comparisons cost more than a request for the logs.
    if (this.#byAddress.size + this.#byKey.size > MAX_BLOOM_CHECKS) return true;
    for (const { filter } of this.#byKey.values()) if (bloom.mayMatch(filter)) return true;
    return false;
  }

  *matching(log: Log, block: bigint): Iterable<LogFilterGroup> {
    for (const groups of [this.#byAddress.get(log.address), this.#anyAddress])
      for (const group of groups ?? []) if (matchesLog(group.filter, log, block)) yield group;
  }

  subscribers(): Subscriber[] {
    return [...this.#byKey.values()].flatMap((group) => [...group.subscribers.keys()]);
  }

  #setsFor({ addresses }: LogFilter): Set<LogFilterGroup>[] {
    if (addresses === undefined) return [this.#anyAddress];
    return [...addresses].map((address) => {
      const groups = this.#byAddress.get(address) ?? new Set();
      this.#byAddress.set(address, groups);
      return groups;
    });
  }

  #removeGroup(group: LogFilterGroup): void {
    this.#anyAddress.delete(group);
    for (const address of group.filter.addresses ?? []) {
      const groups = this.#byAddress.get(address);
      groups?.delete(group);
      if (groups?.size === 0) this.#byAddress.delete(address);
    }
  }
}
