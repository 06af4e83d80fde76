import { matchesLog, logFilterKey, type Log, type LogFilter } from './log-filter.ts';
import type { ChainListener } from './chain-listener.ts';
import type { LogsBloom } from './logs-bloom.ts';

/** All who have the same wish. */
export interface SharedLogFilter {
  readonly filter: LogFilter;
  /** Each with the number of the last block before it joined. */
  readonly listeners: Map<ChainListener, number>;
}

/** Addresses and filters. */
const MAX_BLOOM_CHECKS = 2_000;

/** Who wants which logs: found by a log's address, so that a thousand filters of other contracts cost nothing. */
export class SharedLogFilters {
  readonly #byName = new Map<string, SharedLogFilter>();
  readonly #byAddress = new Map<string, Set<SharedLogFilter>>();
  readonly #anyAddress = new Set<SharedLogFilter>();

  get size(): number {
    return this.#byName.size;
  }

  /** @param since the number of the last block before  @returns takes the listener away again */
  add(filter: LogFilter, listener: ChainListener, since: number): () => void {
    const name = logFilterKey(filter);
    let group = this.#byName.get(name);
    if (group === undefined) {
      group = { filter, listeners: new Map() };
      this.#byName.set(name, group);
      for (const place of this.#placesOf(filter)) place.add(group);
    }
    const { listeners } = group;
    listeners.set(listener, since);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byName.delete(name)) this.#drop(group);
    };
  }

  /** Whether a block with this bloom filter may have logs that somebody wants. */
  mayMatch(bloom: LogsBloom): boolean {
    // To look for many costs more than to ask.
    if (this.#byAddress.size + this.#byName.size > MAX_BLOOM_CHECKS) return true;
    for (const { filter } of this.#byName.values()) if (bloom.mayFit(filter)) return true;
    return false;
  }

  *matching(log: Log, block: bigint): Iterable<SharedLogFilter> {
    for (const groups of [this.#byAddress.get(log.address), this.#anyAddress])
      for (const group of groups ?? []) if (matchesLog(group.filter, log, block)) yield group;
  }

  listeners(): ChainListener[] {
    return [...this.#byName.values()].flatMap((group) => [...group.listeners.keys()]);
  }

  #placesOf({ addresses }: LogFilter): Set<SharedLogFilter>[] {
    if (addresses === undefined) return [this.#anyAddress];
    return [...addresses].map((address) => {
      const place = this.#byAddress.get(address) ?? new Set();
      this.#byAddress.set(address, place);
      return place;
    });
  }

  #drop(group: SharedLogFilter): void {
    this.#anyAddress.delete(group);
    for (const address of group.filter.addresses ?? []) {
      const place = this.#byAddress.get(address);
      place?.delete(group);
      if (place?.size === 0) this.#byAddress.delete(address);
    }
  }
}
