import { Counter, Gauge, type Registry } from 'prom-client';
import { CounterTallies, type Tally } from './tallies.ts';

/** Of a look-up in Redis: found, miss, late, failed, not-asked; of a write: written, not-written. */
export type SharedAnswersMeter = (
  outcome: 'found' | 'miss' | 'late' | 'failed' | 'not-asked' | 'written' | 'not-written',
) => void;

/** What is told of answers that are kept. */
export class CacheMetrics {
  readonly #registry: Registry;
  readonly #lookups: CounterTallies;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#lookups = new CounterTallies(
      {
        name: 'gatehouse_cache_lookups_total',
        help: 'Calls whose answer might have been kept, by outcome: hit (in memory), shared (by Redis), miss (an upstream was asked)',
        labelNames: ['network', 'method', 'outcome'],
      },
      registry,
    );
  }

  lookups(network: string, method: string): (outcome: 'hit' | 'shared' | 'miss') => void {
    const of = (outcome: string): Tally => this.#lookups.labels(network, method, outcome);
    const tallies = { hit: of('hit'), shared: of('shared'), miss: of('miss') };
    return (outcome) => {
      tallies[outcome].add(1);
    };
  }

  /** What comes of asking Redis for answers, and of writing them there. */
  shared(): SharedAnswersMeter {
    const acts = new Counter({
      name: 'gatehouse_cache_redis_acts_total',
      help: 'Answers looked for in CACHE_REDIS_URL, or written there, by outcome: found, miss, late (the upstream was asked), failed, not-asked (Redis is away or was late); written, not-written (too large, too many, or Redis is away)',
      labelNames: ['outcome'] as const,
      registers: [this.#registry],
    });
    return (outcome) => {
      acts.inc({ outcome });
    };
  }

  /** Reads how much is kept whenever metrics are asked for. */
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
    gauge('gatehouse_cache_entries', 'Answers that are kept', 'entries');
    gauge('gatehouse_cache_bytes', 'Memory that answers take which are kept, about', 'bytes');
  }
}
