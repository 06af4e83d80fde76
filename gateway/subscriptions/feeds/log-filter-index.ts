import { matchesLog, logFilterKey, type Log, type LogFilter } from './log-filter.ts';
import type { Subscriber } from './subscriber.ts';
import type { LogsBloom } from './logs-bloom.ts';

/** All who have the same wish. */
export interface LogFilterGroup {
  readonly filter: LogFilter;
  /** Each with the number of the last block before it joined. */
  readonly listeners: Map<Subscriber, number>;
}

/** Addresses and filters. */
const MAX_BLOOM_CHECKS = 2_000;

/** Who wants which logs: found by a log's address, so that a thousand filters of other contracts cost nothing. */
export class LogFilterIndex {
  readonly #byKey = new Map<string, LogFilterGroup>();
  readonly #byAddress = new Map<string, Set<LogFilterGroup>>();
  readonly #anyAddress = new Set<LogFilterGroup>();

  get size(): number {
    return this.#byKey.size;
  }

  /** @param since the number of the last block before  @returns takes the listener away again */
  add(filter: LogFilter, listener: Subscriber, since: number): () => void {
    const name = logFilterKey(filter);
    let group = this.#byKey.get(name);
    if (group === undefined) {
      group = { filter, listeners: new Map() };
      this.#byKey.set(name, group);
      for (const place of this.#setsFor(filter)) place.add(group);
    }
    const { listeners } = group;
    listeners.set(listener, since);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byKey.delete(name)) this.#removeGroup(group);
    };
  }

  /** Whether a block with this bloom filter may have logs that somebody wants. */
  mayMatch(bloom: LogsBloom): boolean {
    // To look for many costs more than to ask.
    if (this.#byAddress.size + this.#byKey.size > MAX_BLOOM_CHECKS) return true;
    for (const { filter } of this.#byKey.values()) if (bloom.mayMatch(filter)) return true;
    return false;
  }

  *matching(log: Log, block: bigint): Iterable<LogFilterGroup> {
    for (const groups of [this.#byAddress.get(log.address), this.#anyAddress])
      for (const group of groups ?? []) if (matchesLog(group.filter, log, block)) yield group;
  }

  listeners(): Subscriber[] {
    return [...this.#byKey.values()].flatMap((group) => [...group.listeners.keys()]);
  }

  #setsFor({ addresses }: LogFilter): Set<LogFilterGroup>[] {
    if (addresses === undefined) return [this.#anyAddress];
    return [...addresses].map((address) => {
      const place = this.#byAddress.get(address) ?? new Set();
      this.#byAddress.set(address, place);
      return place;
    });
  }

  #removeGroup(group: LogFilterGroup): void {
    this.#anyAddress.delete(group);
    for (const address of group.filter.addresses ?? []) {
      const place = this.#byAddress.get(address);
      place?.delete(group);
      if (place?.size === 0) this.#byAddress.delete(address);
    }
  }
}
