import { Counter, Gauge, type Registry } from 'prom-client';
import { CounterMetric, type CounterValue } from './counters.ts';

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
    this.lookupCounts = new CounterMetric(
      {
        name: 'gatehouse_cache_lookups_total',
        help: 'Lookups in the response cache, by outcome: hit (in memory), redis (in CACHE_REDIS_URL), miss (sent to an upstream)',
        labelNames: ['network', 'method', 'outcome'],
      },
      registry,
    );
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
    const operations = new Counter({
      name: 'gatehouse_cache_redis_operations_total',
      help: 'Reads and writes of CACHE_REDIS_URL, by outcome: found, miss, late (past 20 ms), failed, not-requested (Redis is unavailable or was late); written, not-written (too large, too many, or Redis is unavailable)',
      labelNames: ['outcome'] as const,
      registers: [this.#registry],
    });
    return (outcome) => {
      operations.inc({ outcome });
    };
  }

  /** @param read size of the cache in memory, called at each scrape */
  watch(read: () => { readonly entries: number; readonly bytes: number }): void {
    const gauge = (name: string, help: string, what: 'entries' | 'bytes'): Gauge =>
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read()[what]);
        },
      });
    gauge('gatehouse_cache_entries', 'Entries in the response cache', 'entries');
    gauge('gatehouse_cache_bytes', 'Approximate memory of the response cache', 'bytes');
  }
}
