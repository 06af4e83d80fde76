import type { Counter } from 'prom-client';
import type { ActiveUpstream } from './routing-metrics.ts';
import type { CounterMetric, HistogramMetric } from './counters.ts';

/** The requests to an upstream in one interval of ten seconds. */
export interface HistoryBucket {
  /** Requests sent to it. */
  readonly sent: number;
  /** The number of these without a usable response. Cancelled requests are not included. */
  readonly failed: number;
  /** Total duration. */
  readonly seconds: number;
}

/** The share of the time in which the circuit of an upstream was closed. */
export interface Availability {
  readonly share: number;
  /** Seconds that were measured: 24 hours, or less since the upstream was first used. */
  readonly overS: number;
}

interface Period {
  samples: number;
  up: number;
}

export interface UpstreamCounters {
  /** Counts by outcome; every outcome except `response` and `cancelled` is a failure. */
  readonly attempts: CounterMetric;
  readonly attemptSeconds: HistogramMetric;
  readonly unusable: Counter;
}

/** The status page shows ten minutes in intervals of ten seconds. */
export const BUCKET_MS = 10_000;
const MAX_BUCKETS = 60;
/** Availability is counted in intervals of 15 minutes, for 24 hours. */
const SAMPLES_PER_PERIOD = 90;
const MAX_PERIODS = 96;

export type UpstreamTotals = { -readonly [Name in keyof HistoryBucket]: HistoryBucket[Name] };

/** Stores the requests of each upstream in the last ten minutes. It samples the counters, so that calls cost nothing. */
export class UpstreamHistory {
  readonly #counters: UpstreamCounters;
  readonly #buckets = new Map<string, HistoryBucket[]>();
  /** Oldest first. */
  readonly #periods = new Map<string, Period[]>();
  #totals = new Map<string, UpstreamTotals>();

  constructor(counters: UpstreamCounters) {
    this.#counters = counters;
  }

  /** Oldest first; fewer than 60 in the first ten minutes. */
  bucketsOf(network: string, upstream: string): readonly HistoryBucket[] {
    return this.#buckets.get(`${network} ${upstream}`) ?? [];
  }

  /** Availability of an upstream; undefined until it is used. */
  availabilityOf(network: string, upstream: string): Availability | undefined {
    const periods = this.#periods.get(`${network} ${upstream}`) ?? [];
    const samples = periods.reduce((sum, period) => sum + period.samples, 0);
    if (samples === 0) return undefined;
    const up = periods.reduce((sum, period) => sum + period.up, 0);
    return { share: up / samples, overS: (samples * BUCKET_MS) / 1000 };
  }

  /**
   * Ends the current interval.
   * @param active the upstreams of the active configuration
   * @param others the totals of other workers
   */
  async sample(
    active: readonly ActiveUpstream[] = [],
    others: readonly ReadonlyMap<string, UpstreamTotals>[] = [],
  ): Promise<void> {
    this.#sampleAvailability(active);
    const totals = await this.totals();
    for (const [name, { sent, failed, seconds }] of others.flatMap((other) => [...other])) {
      const sum = totals.get(name) ?? { sent: 0, failed: 0, seconds: 0 };
      totals.set(name, { sent: sum.sent + sent, failed: sum.failed + failed, seconds: sum.seconds + seconds });
    }
    for (const [name, now] of totals) {
      const previous = this.#totals.get(name) ?? { sent: 0, failed: 0, seconds: 0 };
      const buckets = this.#buckets.get(name) ?? [];
      // A counter that was removed meanwhile restarts at 0.
      const increaseOf = (name: keyof HistoryBucket): number =>
        now.sent < previous.sent ? now[name] : now[name] - previous[name];
      const seconds = Math.round(increaseOf('seconds') * 1000) / 1000;
      buckets.push({ sent: increaseOf('sent'), failed: increaseOf('failed'), seconds });
      if (buckets.length > MAX_BUCKETS) buckets.shift();
      this.#buckets.set(name, buckets);
    }
    this.#totals = totals;
    // Upstreams without counters were removed from the configuration.
    for (const name of this.#buckets.keys()) if (!totals.has(name)) this.#buckets.delete(name);
  }

  #sampleAvailability(active: readonly ActiveUpstream[]): void {
    const names = new Set<string>();
    for (const { network, upstream, circuit, isMeasured } of active) {
      const name = `${network} ${upstream}`;
      names.add(name);
      if (!isMeasured) continue;
      const periods = this.#periods.get(name) ?? [];
      let period = periods.at(-1);
      if (period === undefined || period.samples === SAMPLES_PER_PERIOD) {
        period = { samples: 0, up: 0 };
        periods.push(period);
        if (periods.length > MAX_PERIODS) periods.shift();
      }
      period.samples++;
      if (circuit === 'closed') period.up++;
      this.#periods.set(name, periods);
    }
    for (const name of this.#periods.keys()) if (!names.has(name)) this.#periods.delete(name);
  }

  /** Totals of this process, by network and upstream. */
  async totals(): Promise<Map<string, UpstreamTotals>> {
    const { attempts, attemptSeconds, unusable } = this.#counters;
    const totals = new Map<string, UpstreamTotals>();
    const of = ({ network, upstream }: Partial<Record<string, string | number>>): UpstreamTotals => {
      const name = `${network ?? ''} ${upstream ?? ''}`;
      const known = totals.get(name) ?? { sent: 0, failed: 0, seconds: 0 };
      totals.set(name, known);
      return known;
    };
    for (const { labels, value } of (await attempts.get()).values) {
      of(labels).sent += value;
      if (labels['outcome'] !== 'response' && labels['outcome'] !== 'cancelled') of(labels).failed += value;
    }
    for (const { labels, value } of (await unusable.get()).values) of(labels).failed += value;
    for (const { labels, value, metricName } of (await attemptSeconds.get()).values) {
      if (metricName?.endsWith('_sum') === true) of(labels).seconds += value;
    }
    return totals;
  }
}
