import type { Registry } from 'prom-client';
import type { CounterMetric, CounterValue } from './counters.ts';
import { counter, fastCounter, gauge } from './instruments.ts';

/** Counts the outcome of one read or write of the Redis cache. */
export type RedisCacheMetric = (
  outcome: 'found' | 'miss' | 'late' | 'failed' | 'not-requested' | 'written' | 'not-written',
) => void;

/** The metrics of the response cache, in memory and in Redis. */
export class CacheMetrics {
  readonly #registry: Registry;
  readonly lookupCounts: CounterMetric;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.lookupCounts = fastCounter(registry, 'gatehouse_cache_lookups_total');
  }

  lookups(network: string, method: string): (outcome: 'hit' | 'redis' | 'miss') => void {
    const of = (outcome: string): CounterValue => this.lookupCounts.labels(network, method, outcome);
    const counters = { hit: of('hit'), redis: of('redis'), miss: of('miss') };
    return (outcome) => {
      counters[outcome].value++;
    };
  }

  /** Creates the counter of reads and writes of the Redis cache. */
  redisCache(): RedisCacheMetric {
    const operations = counter(this.#registry, 'gatehouse_cache_redis_operations_total');
    return (outcome) => {
      operations.inc({ outcome });
    };
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
