import { Counter, Gauge, type Registry } from 'prom-client';

/** What is told of answers that are kept. */
export class CacheMetrics {
  readonly #registry: Registry;
  readonly #lookups: Counter<'network' | 'method' | 'outcome'>;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#lookups = new Counter({
      name: 'gatehouse_cache_lookups_total',
      help: 'Calls whose answer might have been kept, by outcome: hit (no upstream was asked), miss',
      labelNames: ['network', 'method', 'outcome'] as const,
      registers: [registry],
    });
  }

  lookups(network: string, method: string): (outcome: 'hit' | 'miss') => void {
    const hits = this.#lookups.labels(network, method, 'hit');
    const misses = this.#lookups.labels(network, method, 'miss');
    return (outcome) => {
      (outcome === 'hit' ? hits : misses).inc();
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
