import type { CounterMetric, HistogramMetric } from './counters.ts';
import { outcomeClassOf } from './outcome-class.ts';
import { quantileMs } from './quantile.ts';

/** The calls of a network in the last minute. */
export interface NetworkActivity {
  readonly perSecond: number;
  /** Median and 99th percentile of the duration, interpolated as by Prometheus; undefined without calls. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Share of the calls that the gateway or its upstreams failed, and that were rejected; undefined without calls. */
  readonly failedShare: number | undefined;
  readonly rejectedShare: number | undefined;
  /** Share of lookups in the cache that were hits; undefined without lookups. */
  readonly cacheHitRate: number | undefined;
}

export interface NetworkCounters {
  readonly callSeconds: HistogramMetric;
  readonly cacheLookups: CounterMetric;
  /** Counts by outcome. */
  readonly calls: CounterMetric;
}

/** Samples that make a minute. */
const MAX_SAMPLES = 6;

/** Totals of one network at a sample. */
export interface NetworkTotals {
  /** Calls by bucket of their duration; the last one has no upper bound. */
  readonly counts: Float64Array;
  hits: number;
  lookups: number;
  ended: number;
  failed: number;
  rejected: number;
}

interface NetworkSample {
  readonly at: number;
  readonly totals: ReadonlyMap<string, NetworkTotals>;
}

/** Measures the calls of each network in the last minute. It samples the metrics, so that calls cost nothing. */
export class NetworkHistory {
  readonly #counters: NetworkCounters;
  /** Oldest first; one more than the intervals. */
  readonly #samples: NetworkSample[] = [];

  constructor(counters: NetworkCounters) {
    this.#counters = counters;
  }

  /** @param now by clock.now() @param others the totals of other workers */
  sample(now: number, others: readonly ReadonlyMap<string, NetworkTotals>[] = []): void {
    const totals = this.totals();
    for (const [network, other] of others.flatMap((each) => [...each])) {
      const sum = totals.get(network);
      if (sum === undefined) {
        totals.set(network, { ...other, counts: other.counts.slice() });
        continue;
      }
      for (const [index, count] of other.counts.entries()) sum.counts[index] = (sum.counts[index] ?? 0) + count;
      for (const name of ['hits', 'lookups', 'ended', 'failed', 'rejected'] as const) sum[name] += other[name];
    }
    this.#samples.push({ at: now, totals });
    if (this.#samples.length > MAX_SAMPLES + 1) this.#samples.shift();
  }

  /** Activity of a network; undefined until there are two samples. */
  activityOf(network: string): NetworkActivity | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    const after = last.totals.get(network);
    const before = first.totals.get(network);
    const increase = (now = 0, previous = 0): number => (now < previous ? now : now - previous);
    const counts = Array.from(after?.counts ?? [], (count, index) => increase(count, before?.counts[index]));
    const calls = counts.reduce((sum, count) => sum + count, 0);
    const ended = increase(after?.ended, before?.ended);
    const shareOf = (count: number): number | undefined => (ended === 0 ? undefined : count / ended);
    const lookups = increase(after?.lookups, before?.lookups);
    const { bounds } = this.#counters.callSeconds;
    return {
      perSecond: (calls * 1000) / (last.at - first.at),
      p50Ms: quantileMs(bounds, counts, 0.5),
      p99Ms: quantileMs(bounds, counts, 0.99),
      failedShare: shareOf(increase(after?.failed, before?.failed)),
      rejectedShare: shareOf(increase(after?.rejected, before?.rejected)),
      cacheHitRate: lookups === 0 ? undefined : increase(after?.hits, before?.hits) / lookups,
    };
  }

  /** Totals of this process, by network. */
  totals(): Map<string, NetworkTotals> {
    const { callSeconds, cacheLookups, calls } = this.#counters;
    const totals = new Map<string, NetworkTotals>();
    const of = (network = ''): NetworkTotals => {
      const known = totals.get(network);
      if (known !== undefined) return known;
      const created = {
        counts: new Float64Array(callSeconds.bounds.length + 1),
        ...{ hits: 0, lookups: 0, ended: 0, failed: 0, rejected: 0 },
      };
      totals.set(network, created);
      return created;
    };
    for (const { labels, child } of callSeconds.children()) {
      const { counts } = of(labels['network']);
      for (let index = 0; index < counts.length; index++)
        counts[index] = (counts[index] ?? 0) + (child.counts[index] ?? 0);
    }
    for (const { labels, child } of calls.children()) {
      const network = of(labels['network']);
      const outcome = outcomeClassOf(labels['outcome'] ?? '');
      network.ended += child.value;
      if (outcome === 'failed' || outcome === 'rejected') network[outcome] += child.value;
    }
    for (const { labels, child } of cacheLookups.children()) {
      const network = of(labels['network']);
      network.lookups += child.value;
      if (labels['outcome'] !== 'miss') network.hits += child.value;
    }
    return totals;
  }
}
