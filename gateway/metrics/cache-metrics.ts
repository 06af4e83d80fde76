import type { Registry } from 'prom-client';
import type { CounterMetric, CounterValue } from './counters.ts';
import { counter, fastCounter, gauge } from './instruments.ts';

/** Counts the outcome of one read or write of the durable cache. */
export type DurableCacheMetric = (
  outcome: 'found' | 'miss' | 'late' | 'failed' | 'not-requested' | 'written' | 'not-written',
) => void;

/** The metrics of the response cache, in memory and durable. */
export class CacheMetrics {
  readonly #registry: Registry;
  readonly lookupCounts: CounterMetric;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.lookupCounts = fastCounter(registry, 'gatehouse_cache_lookups_total');
  }

  lookups(network: string, method: string): (outcome: 'hit' | 'disk' | 'redis' | 'miss') => void {
    const of = (outcome: string): CounterValue => this.lookupCounts.labels(network, method, outcome);
    const counters = { hit: of('hit'), disk: of('disk'), redis: of('redis'), miss: of('miss') };
    return (outcome) => {
      counters[outcome].value++;
    };
  }

  /** Creates the counter of reads and writes of the durable cache. */
  durable(): DurableCacheMetric {
    const operations = counter(this.#registry, 'gatehouse_cache_durable_operations_total');
    return (outcome) => {
      operations.inc({ outcome });
    };
  }

  /** @param bytes of the entries on disk, called at each scrape */
  watchDisk(bytes: () => number): void {
    gauge(this.#registry, 'gatehouse_cache_disk_bytes', (gauged) => {
      gauged.set(bytes());
    });
  }

  /** @param read size of the cache in memory, called at each scrape */
  watch(read: () => { readonly entries: number; readonly bytes: number }): void {
    gauge(this.#registry, 'gatehouse_cache_entries', (entries) => {
      entries.set(read().entries);
    });
    gauge(this.#registry, 'gatehouse_cache_bytes', (bytes) => {
      bytes.set(read().bytes);
    });
  }
}
