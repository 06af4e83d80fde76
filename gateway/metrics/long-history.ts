import type { CounterMetric, HistogramMetric } from './counters.ts';
import { outcomeClassOf } from './outcome-class.ts';
import { quantileMs } from './quantile.ts';

/** The ranges that can be shown, with the length of a step. */
export const historyRanges = {
  '1h': { stepS: 30, steps: 120 },
  '24h': { stepS: 600, steps: 144 },
  '7d': { stepS: 3_600, steps: 168 },
} as const;

export type HistoryRange = keyof typeof historyRanges;

export const rangeNames = Object.keys(historyRanges) as HistoryRange[];

/**
 * What a step has of a network or an upstream. Of a network: calls by class of their outcome. Of an upstream: requests, and
 * failures by kind. Times are of both; lag is of upstreams.
 */
export const networkFields = ['calls', 'rejected', 'upstreamErrors', 'failed', '', 'p50Ms', 'p99Ms', ''] as const;
export const upstreamFields = [
  'sent',
  'unreachable',
  'limited',
  'unsupported',
  'invalid',
  'p50Ms',
  'p99Ms',
  'lag',
] as const;
export const FIELDS = networkFields.length;
/** The first fields, which are sums of counters; the others are of the whole step. */
export const COUNTS = 5;

/** One step. Series without traffic are left out. */
export interface HistoryPoint {
  /** Begin of the step, in seconds since 1970. */
  readonly at: number;
  /** `network`, or `network upstream`. */
  readonly names: readonly string[];
  /** `FIELDS` numbers of each name; NaN: unknown. */
  readonly values: Float32Array;
}

export interface HistoryCounters {
  readonly calls: CounterMetric;
  readonly callSeconds: HistogramMetric;
  readonly attempts: CounterMetric;
  readonly attemptSeconds: HistogramMetric;
}

/** Totals of one series since the start. */
export interface LongTotals {
  readonly counts: Float64Array;
  readonly buckets: Float64Array;
}

/** An upstream that lags, by the name of its series. */
export type Lags = ReadonlyMap<string, number>;

const failureKinds: Readonly<Record<string, number>> = {
  ...{ transport: 1, slow: 1 },
  ...{ rate: 2, quota: 2, auth: 2 },
  ...{ unsupported: 3, 'too-large': 3, 'not-found': 3, 'node-state': 3, 'no-block': 3 },
};
const INVALID = 4;
const outcomeFields = { served: undefined, rejected: 1, 'upstream-error': 2, failed: 3 } as const;

/**
 * The calls of networks and the requests to upstreams over 1 h, 24 h and 7 d, each in steps of its own. It reads the counters
 * at the end of a step, so that calls cost nothing.
 */
export class LongHistory {
  readonly #counters: HistoryCounters;
  readonly #points: Readonly<Record<HistoryRange, HistoryPoint[]>> = { '1h': [], '24h': [], '7d': [] };
  /** At the end of the last step of each range. */
  readonly #before = new Map<
    HistoryRange,
    { readonly step: number; readonly totals: ReadonlyMap<string, LongTotals> }
  >();
  /** Called with each new point. */
  onPoint: (range: HistoryRange, point: HistoryPoint) => void = () => undefined;

  constructor(counters: HistoryCounters) {
    this.#counters = counters;
  }

  /** Oldest first. */
  pointsOf(range: HistoryRange): readonly HistoryPoint[] {
    return this.#points[range];
  }

  /** Adds a point, such as one from before the start. */
  add(range: HistoryRange, point: HistoryPoint): void {
    const points = this.#points[range];
    points.push(point);
    if (points.length > historyRanges[range].steps) points.shift();
  }

  /** Ends the steps that are over. @param nowS seconds since 1970 @param others the totals of other workers */
  sample(nowS: number, lags: Lags, others: readonly ReadonlyMap<string, LongTotals>[] = []): void {
    let read: ReadonlyMap<string, LongTotals> | undefined;
    for (const range of rangeNames) {
      const { stepS } = historyRanges[range];
      const step = Math.floor(nowS / stepS);
      const before = this.#before.get(range);
      if (before?.step === step) continue;
      const totals = (read ??= this.#sumWith(others));
      this.#before.set(range, { step, totals });
      if (before === undefined) continue;
      const point = this.#pointBetween(before.totals, totals, before.step * stepS, lags);
      this.add(range, point);
      this.onPoint(range, point);
    }
  }

  #pointBetween(
    before: ReadonlyMap<string, LongTotals>,
    after: ReadonlyMap<string, LongTotals>,
    at: number,
    lags: Lags,
  ): HistoryPoint {
    const names: string[] = [];
    const rows: number[] = [];
    for (const [name, { counts, buckets }] of after) {
      const previous = before.get(name);
      const added = increases(counts, previous?.counts);
      if (added[0] === 0 && !lags.has(name)) continue;
      const times = increases(buckets, previous?.buckets);
      const isUpstream = name.includes(' ');
      const { bounds } = isUpstream ? this.#counters.attemptSeconds : this.#counters.callSeconds;
      names.push(name);
      rows.push(...added, quantileMs(bounds, times, 0.5) ?? NaN, quantileMs(bounds, times, 0.99) ?? NaN);
      rows.push(isUpstream ? (lags.get(name) ?? NaN) : NaN);
    }
    return { at, names, values: Float32Array.from(rows) };
  }

  #sumWith(others: readonly ReadonlyMap<string, LongTotals>[]): Map<string, LongTotals> {
    const totals = this.totals();
    for (const [name, { counts, buckets }] of others.flatMap((other) => [...other])) {
      const sum = totals.get(name);
      if (sum === undefined) totals.set(name, { counts: counts.slice(), buckets: buckets.slice() });
      else {
        addAll(sum.counts, counts);
        addAll(sum.buckets, buckets);
      }
    }
    return totals;
  }

  /** Of this process, by series. */
  totals(): Map<string, LongTotals> {
    const { calls, callSeconds, attempts, attemptSeconds } = this.#counters;
    const totals = new Map<string, LongTotals>();
    const of = (name: string, { bounds }: HistogramMetric): LongTotals => {
      const known = totals.get(name);
      if (known !== undefined) return known;
      const created = { counts: new Float64Array(COUNTS), buckets: new Float64Array(bounds.length + 1) };
      totals.set(name, created);
      return created;
    };
    for (const { labels, child } of calls.children()) {
      const { counts } = of(labels['network'] ?? '', callSeconds);
      const field = outcomeFields[outcomeClassOf(labels['outcome'] ?? '')];
      add(counts, 0, child.value);
      if (field !== undefined) add(counts, field, child.value);
    }
    for (const { labels, child } of attempts.children()) {
      const { network = '', upstream = '', outcome = '' } = labels;
      const { counts } = of(`${network} ${upstream}`, attemptSeconds);
      add(counts, 0, child.value);
      if (outcome !== 'response' && outcome !== 'cancelled') add(counts, failureKinds[outcome] ?? INVALID, child.value);
    }
    for (const { labels, child } of callSeconds.children())
      addAll(of(labels['network'] ?? '', callSeconds).buckets, child.counts);
    for (const { labels, child } of attemptSeconds.children()) {
      const { network = '', upstream = '' } = labels;
      addAll(of(`${network} ${upstream}`, attemptSeconds).buckets, child.counts);
    }
    return totals;
  }
}

function add(sums: Float64Array, index: number, value: number): void {
  sums[index] = (sums[index] ?? 0) + value;
}

function addAll(sums: Float64Array, values: Float64Array): void {
  for (const [index, value] of values.entries()) add(sums, index, value);
}

/** A counter that was removed meanwhile restarts at 0. */
function increases(now: Float64Array, before: Float64Array | undefined): number[] {
  const isRestarted = before !== undefined && now.some((value, index) => value < (before[index] ?? 0));
  return Array.from(now, (value, index) => (isRestarted ? value : value - (before?.[index] ?? 0)));
}
