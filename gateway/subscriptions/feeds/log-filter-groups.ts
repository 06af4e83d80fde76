import { logFilterKey, matchesLog, sizeOf, type EventLog, type LogFilter } from '../../chain/logs/log-filter.ts';
import type { Subscriber } from './subscriber.ts';
import type { LogsBloom } from '../../chain/logs/logs-bloom.ts';

/** The subscribers with equal filters. */
export interface LogFilterGroup {
  readonly filter: LogFilter;
  /** Subscribers, each with the number of the last block before it joined. */
  readonly subscribers: Map<Subscriber, number>;
}

/** Filters that are compared with a log at once: about 10 µs. */
const COMPARED_PER_STEP = 64;
/** Limit of addresses and filters to compare with a bloom filter. */
const MAX_BLOOM_CHECKS = 2_000;

/** Finds the subscribers of a log by its address, else by its first topic, so that filters for others take no time. */
export class LogFilterGroups {
  readonly #byKey = new Map<string, LogFilterGroup>();
  /** Groups by address, without one by first topic. Most values are in one filter only. A set for each would take 200 bytes. */
  readonly #byValue = new Map<string, LogFilterGroup | Set<LogFilterGroup>>();
  readonly #others = new Set<LogFilterGroup>();
  /** Addresses and topics of all groups. */
  #values = 0;

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
      this.#addGroup(group);
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
    if (this.#values + this.#byKey.size > MAX_BLOOM_CHECKS) return true;
    for (const { filter } of this.#byKey.values()) if (bloom.mayMatch(filter)) return true;
    return false;
  }

  /** Groups may be added and removed in the meantime. Undefined: many were compared without a match, so a pause is due. */
  *matching(log: EventLog, block: bigint): Iterable<LogFilterGroup | undefined> {
    let compared = 0;
    for (const groups of [this.#byValue.get(log.address), this.#byValue.get(log.topics[0] ?? ''), this.#others]) {
      for (const group of groups instanceof Set ? groups : groups === undefined ? [] : [groups]) {
        if (matchesLog(group.filter, log, block)) yield group;
        else if (++compared % COMPARED_PER_STEP === 0) yield undefined;
      }
    }
  }

  subscribers(): Subscriber[] {
    return [...this.#byKey.values()].flatMap((group) => [...group.subscribers.keys()]);
  }

  #addGroup(group: LogFilterGroup): void {
    this.#values += sizeOf(group.filter);
    const values = indexedBy(group.filter);
    if (values === undefined) this.#others.add(group);
    for (const value of values ?? []) {
      const groups = this.#byValue.get(value);
      if (groups instanceof Set) groups.add(group);
      else this.#byValue.set(value, groups === undefined ? group : new Set([groups, group]));
    }
  }

  #removeGroup(group: LogFilterGroup): void {
    this.#values -= sizeOf(group.filter);
    this.#others.delete(group);
    for (const value of indexedBy(group.filter) ?? []) {
      const groups = this.#byValue.get(value);
      if (groups instanceof Set) groups.delete(group);
      if (groups === group || (groups instanceof Set && groups.size === 0)) this.#byValue.delete(value);
    }
  }
}

/** An address has 20 bytes and a topic 32, so that one is never taken for the other. */
function indexedBy({ addresses, topics }: LogFilter): ReadonlySet<string> | undefined {
  return addresses ?? topics[0];
}
