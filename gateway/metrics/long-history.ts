import type { CounterMetric, HistogramMetric } from './counters.ts';
import { DURATION_BUCKETS_S } from './instruments.ts';
import { outcomeClassOf } from './outcome-class.ts';

/** The ranges that can be shown, with the length of a step. */
export const historyRanges = {
  '1h': { stepS: 30, steps: 120 },
  '24h': { stepS: 600, steps: 144 },
  '7d': { stepS: 3_600, steps: 168 },
} as const;

export type HistoryRange = keyof typeof historyRanges;

export const rangeNames = Object.keys(historyRanges) as HistoryRange[];

/** Counts of a network: calls, and those without a result by class of their outcome. */
export const networkCounts = ['calls', 'rejected', 'upstreamErrors', 'failed'] as const;
/** Counts of an upstream: requests, and failures by kind. */
export const upstreamCounts = [
  'sent',
  'unreachable',
  'limited',
  'unsupported',
  'invalid',
  'credentials',
  'otherChain',
] as const;
export const COUNTS = upstreamCounts.length;
/** Buckets of the durations: those of `DURATION_BUCKETS_S`, and one without an upper bound. */
const BUCKETS = DURATION_BUCKETS_S.length + 1;
/** After the counts and the buckets; of upstreams only. */
const LAG = COUNTS + BUCKETS;
export const FIELDS = LAG + 1;
/** Points of before 2026-11-27 have no `credentials` and no `otherChain`, which are the last of the counts. */
const OLD_COUNTS = COUNTS - 2;
const OLD_FIELDS = FIELDS - 2;

/** One step, or a part of it. Series without traffic are left out. */
export interface HistoryPoint {
  /** Begin of the step, in seconds since 1970. */
  readonly at: number;
  /** `network`, or `network upstream`. */
  readonly names: readonly string[];
  /** `FIELDS` numbers of each name: counts, durations by bucket, and the lag, which is NaN if it is unknown. */
  readonly values: Float32Array;
}

/** What a step has of one series. */
export interface SeriesStep {
  readonly counts: Float32Array;
  readonly buckets: Float32Array;
  readonly lag: number;
}

/** @param given numbers of stored series @returns undefined if their count is not that of a point */
export function valuesFrom(given: readonly number[], series: number): Float32Array | undefined {
  if (given.length === series * FIELDS) return Float32Array.from(given);
  if (given.length !== series * OLD_FIELDS) return undefined;
  const values = new Float32Array(series * FIELDS);
  for (let index = 0; index < series; index++) {
    const row = given.slice(index * OLD_FIELDS, (index + 1) * OLD_FIELDS);
    values.set([...row.slice(0, OLD_COUNTS), 0, 0, ...row.slice(OLD_COUNTS)], index * FIELDS);
  }
  return values;
}

/** @returns undefined if the series had no traffic */
export function seriesIn({ names, values }: HistoryPoint, name: string): SeriesStep | undefined {
  const index = names.indexOf(name);
  if (index === -1) return undefined;
  const own = values.subarray(index * FIELDS, (index + 1) * FIELDS);
  return { counts: own.subarray(0, COUNTS), buckets: own.subarray(COUNTS, LAG), lag: own[LAG] ?? NaN };
}

/** Adds up points of one step: parts of it, or those of several gateways. A lag is the longest of them. */
export function addPoints(first: HistoryPoint, second: HistoryPoint): HistoryPoint {
  const names = [...new Set([...first.names, ...second.names])];
  const places = new Map(names.map((name, index) => [name, index]));
  const values = new Float32Array(names.length * FIELDS);
  for (let index = LAG; index < values.length; index += FIELDS) values[index] = NaN;
  for (const point of [first, second]) {
    for (const [index, name] of point.names.entries()) {
      const from = (places.get(name) ?? 0) * FIELDS;
      for (let field = 0; field < FIELDS; field++) {
        const value = point.values[index * FIELDS + field] ?? NaN;
        const sum = values[from + field] ?? NaN;
        if (field < LAG) values[from + field] = sum + value;
        else if (!(sum >= value)) values[from + field] = Number.isNaN(value) ? sum : value;
      }
    }
  }
  return { at: first.at, names, values };
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

/** The totals at the begin of the current step of a range. */
interface StepBegin {
  readonly step: number;
  readonly totals: ReadonlyMap<string, LongTotals>;
}

/** An upstream that lags, by the name of its series. */
export type Lags = ReadonlyMap<string, number>;

const failureKinds: Readonly<Record<string, number>> = {
  ...{ transport: 1, slow: 1 },
  ...{ rate: 2, quota: 2, auth: 5, 'wrong-chain': 6 },
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
  readonly #before = new Map<HistoryRange, StepBegin>();
  /** The totals of other workers at the last sample. */
  #others: readonly ReadonlyMap<string, LongTotals>[] = [];
  /** Called with each new point. */
  onPoint: (range: HistoryRange, point: HistoryPoint) => void = () => undefined;

  constructor(counters: HistoryCounters) {
    this.#counters = counters;
  }

  /** Oldest first. */
  pointsOf(range: HistoryRange): readonly HistoryPoint[] {
    return this.#points[range];
  }

  /** Adds a point, such as one from before the start. Two of the same step are added up. */
  add(range: HistoryRange, point: HistoryPoint): void {
    const points = this.#points[range];
    const last = points.at(-1);
    if (last?.at === point.at) points[points.length - 1] = addPoints(last, point);
    else points.push(point);
    if (points.length > historyRanges[range].steps) points.shift();
  }

  /** Ends the steps that are over. @param nowS seconds since 1970 @param others the totals of other workers */
  sample(nowS: number, lags: Lags, others: readonly ReadonlyMap<string, LongTotals>[] = []): void {
    this.#others = others;
    let read: ReadonlyMap<string, LongTotals> | undefined;
    for (const range of rangeNames) {
      const step = Math.floor(nowS / historyRanges[range].stepS);
      const before = this.#before.get(range);
      if (before?.step === step) continue;
      const totals = (read ??= this.#sumWith(others));
      this.#before.set(range, { step, totals });
      if (before !== undefined) this.#endStep(range, before, totals, lags);
    }
  }

  /** Ends all steps before they are over, when the process stops: the next process counts the rest. */
  end(): void {
    const totals = this.#sumWith(this.#others);
    for (const [range, before] of this.#before) this.#endStep(range, before, totals, new Map());
    this.#before.clear();
  }

  #endStep(
    range: HistoryRange,
    { step, totals: before }: StepBegin,
    after: ReadonlyMap<string, LongTotals>,
    lags: Lags,
  ): void {
    const names: string[] = [];
    const rows: number[] = [];
    for (const [name, { counts, buckets }] of after) {
      const previous = before.get(name);
      const added = increases(counts, previous?.counts);
      if (added[0] === 0 && !lags.has(name)) continue;
      names.push(name);
      rows.push(...added, ...increases(buckets, previous?.buckets), lags.get(name) ?? NaN);
    }
    const point = { at: step * historyRanges[range].stepS, names, values: Float32Array.from(rows) };
    this.add(range, point);
    this.onPoint(range, point);
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

  /** Totals of this process, by series. */
  totals(): Map<string, LongTotals> {
    const { calls, callSeconds, attempts, attemptSeconds } = this.#counters;
    const totals = new Map<string, LongTotals>();
    const of = (name: string): LongTotals => {
      const known = totals.get(name);
      if (known !== undefined) return known;
      const created = { counts: new Float64Array(COUNTS), buckets: new Float64Array(BUCKETS) };
      totals.set(name, created);
      return created;
    };
    for (const { labels, child } of calls.children()) {
      const { counts } = of(labels['network'] ?? '');
      const field = outcomeFields[outcomeClassOf(labels['outcome'] ?? '')];
      add(counts, 0, child.value);
      if (field !== undefined) add(counts, field, child.value);
    }
    for (const { labels, child } of attempts.children()) {
      const { network = '', upstream = '', outcome = '' } = labels;
      const { counts } = of(`${network} ${upstream}`);
      add(counts, 0, child.value);
      if (outcome !== 'response' && outcome !== 'cancelled') add(counts, failureKinds[outcome] ?? INVALID, child.value);
    }
    for (const { labels, child } of callSeconds.children()) addAll(of(labels['network'] ?? '').buckets, child.counts);
    for (const { labels, child } of attemptSeconds.children()) {
      const { network = '', upstream = '' } = labels;
      addAll(of(`${network} ${upstream}`).buckets, child.counts);
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
