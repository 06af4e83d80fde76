import type { Counter } from 'prom-client';
import type { CounterMetric, HistogramMetric } from './counters.ts';

/** The requests to an upstream in one interval of ten seconds. */
export interface HistoryBucket {
  /** Requests sent to it. */
  readonly sent: number;
  /** Of these, requests without a usable response. Cancelled requests are not included. */
  readonly failed: number;
  /** Total duration. */
  readonly seconds: number;
}

export interface UpstreamCounters {
  /** By outcome; every outcome except `response` and `cancelled` is a failure. */
  readonly attempts: CounterMetric;
  readonly attemptSeconds: HistogramMetric;
  readonly unusable: Counter;
}

/** The status page shows ten minutes in intervals of ten seconds. */
const BUCKET_MS = 10_000;
const MAX_BUCKETS = 60;

type Totals = { -readonly [Name in keyof HistoryBucket]: HistoryBucket[Name] };

/** Stores the requests of each upstream in the last ten minutes. It samples the counters, so that calls cost nothing. */
export class UpstreamHistory {
  readonly #counters: UpstreamCounters;
  readonly #buckets = new Map<string, HistoryBucket[]>();
  #totals = new Map<string, Totals>();
  #timer: NodeJS.Timeout | undefined;

  constructor(counters: UpstreamCounters) {
    this.#counters = counters;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.sample(), BUCKET_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Oldest first; fewer than 60 in the first ten minutes. */
  bucketsOf(network: string, upstream: string): readonly HistoryBucket[] {
    return this.#buckets.get(`${network} ${upstream}`) ?? [];
  }

  /** Ends the current interval. */
  async sample(): Promise<void> {
    const totals = await this.#read();
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

  async #read(): Promise<Map<string, Totals>> {
    const { attempts, attemptSeconds, unusable } = this.#counters;
    const totals = new Map<string, Totals>();
    const of = ({ network, upstream }: Partial<Record<string, string | number>>): Totals => {
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
