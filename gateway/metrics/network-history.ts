import type { CounterMetric, HistogramMetric } from './counters.ts';

/** The calls of a network in the last minute. */
export interface NetworkActivity {
  readonly perSecond: number;
  /** Median and 99th percentile of the duration, interpolated as by Prometheus; undefined without calls. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Share of lookups in the cache that were hits; undefined without lookups. */
  readonly cacheHitRate: number | undefined;
}

export interface NetworkCounters {
  readonly callSeconds: HistogramMetric;
  readonly cacheLookups: CounterMetric;
}

/** Samples that make a minute. */
const MAX_SAMPLES = 6;

/** Totals of one network at a sample. */
export interface NetworkTotals {
  /** Calls by bucket of their duration; the last one has no upper bound. */
  readonly counts: Float64Array;
  hits: number;
  lookups: number;
}

interface Sample {
  readonly at: number;
  readonly totals: ReadonlyMap<string, NetworkTotals>;
}

/** Measures the calls of each network in the last minute. It samples the metrics, so that calls cost nothing. */
export class NetworkHistory {
  readonly #counters: NetworkCounters;
  /** Oldest first; one more than the intervals. */
  readonly #samples: Sample[] = [];

  constructor(counters: NetworkCounters) {
    this.#counters = counters;
  }

  /** @param now by clock.now() @param others the totals of other workers */
  sample(now: number, others: readonly ReadonlyMap<string, NetworkTotals>[] = []): void {
    const totals = this.totals();
    for (const [network, { counts, hits, lookups }] of others.flatMap((other) => [...other])) {
      const sum = totals.get(network) ?? { counts: new Float64Array(counts.length), hits: 0, lookups: 0 };
      for (const [index, count] of counts.entries()) sum.counts[index] = (sum.counts[index] ?? 0) + count;
      sum.hits += hits;
      sum.lookups += lookups;
      totals.set(network, sum);
    }
    this.#samples.push({ at: now, totals });
    if (this.#samples.length > MAX_SAMPLES + 1) this.#samples.shift();
  }

  /** Undefined until there are two samples. */
  activityOf(network: string): NetworkActivity | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    const after = last.totals.get(network);
    const before = first.totals.get(network);
    const increase = (now = 0, previous = 0): number => (now < previous ? now : now - previous);
    const counts = Array.from(after?.counts ?? [], (count, index) => increase(count, before?.counts[index]));
    const calls = counts.reduce((sum, count) => sum + count, 0);
    const lookups = increase(after?.lookups, before?.lookups);
    return {
      perSecond: (calls * 1000) / (last.at - first.at),
      p50Ms: this.#quantileMs(counts, calls, 0.5),
      p99Ms: this.#quantileMs(counts, calls, 0.99),
      cacheHitRate: lookups === 0 ? undefined : increase(after?.hits, before?.hits) / lookups,
    };
  }

  #quantileMs(counts: readonly number[], calls: number, quantile: number): number | undefined {
    if (calls === 0) return undefined;
    const { bounds } = this.#counters.callSeconds;
    const rank = quantile * calls;
    let below = 0;
    for (const [index, count] of counts.entries()) {
      const upper = bounds[index];
      // Of longer calls, only the highest bound is known.
      if (upper === undefined) break;
      if (below + count >= rank) {
        const lower = bounds[index - 1] ?? 0;
        return (lower + (upper - lower) * ((rank - below) / count)) * 1000;
      }
      below += count;
    }
    return (bounds.at(-1) ?? 0) * 1000;
  }

  /** Of this process, by network. */
  totals(): Map<string, NetworkTotals> {
    const { callSeconds, cacheLookups } = this.#counters;
    const totals = new Map<string, NetworkTotals>();
    const of = (network = ''): NetworkTotals => {
      const known = totals.get(network);
      if (known !== undefined) return known;
      const created = { counts: new Float64Array(callSeconds.bounds.length + 1), hits: 0, lookups: 0 };
      totals.set(network, created);
      return created;
    };
    for (const { labels, child } of callSeconds.children()) {
      const { counts } = of(labels['network']);
      for (let index = 0; index < counts.length; index++)
        counts[index] = (counts[index] ?? 0) + (child.counts[index] ?? 0);
    }
    for (const { labels, child } of cacheLookups.children()) {
      const network = of(labels['network']);
      network.lookups += child.value;
      if (labels['outcome'] !== 'miss') network.hits += child.value;
    }
    return totals;
  }
}
