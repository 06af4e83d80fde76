import type { Registry } from 'prom-client';
import { clock, type Timer } from '../clock/clock.ts';
import { DURATION_BUCKETS_S, quantileMs } from './counters.ts';
import { histogram, numbers } from './instruments.ts';
import { outcomeClassOf } from './outcome-class.ts';

export type CircuitState = 'closed' | 'half-open' | 'open';

/** An upstream of the active configuration. */
export interface ActiveUpstream {
  readonly network: string;
  readonly upstream: string;
  readonly circuit: CircuitState;
  /** Unix time in seconds at which it was drained; undefined: it is not. */
  readonly drainedS: number | undefined;
  /** Whether it has responded or failed before, and its circuit is not open only because hedged requests responded first. */
  readonly isMeasured: boolean;
  /** Blocks behind the head; undefined: unknown. */
  readonly lag: number | undefined;
  /** The calls that may be in progress there. */
  readonly concurrencyLimit: number;
  /** The calls of client batches are sent singly. */
  readonly isWithoutBatches: boolean;
}

/** The ranges that can be shown, with the length of a step. Each step is a multiple of that of `1h`. */
export const historyRanges = {
  '1h': { stepS: 30, steps: 120 },
  '24h': { stepS: 600, steps: 144 },
  '7d': { stepS: 3_600, steps: 168 },
  '30d': { stepS: 21_600, steps: 120 },
  '90d': { stepS: 86_400, steps: 90 },
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

// A row has the numbers of one series in a step: its counts, and from here on
const BUCKETS = upstreamCounts.length;
/** Blocks behind the head, at the end of the step; NaN: unknown. It follows the buckets of `DURATION_BUCKETS_S` and that of longer ones. */
const LAG = BUCKETS + DURATION_BUCKETS_S.length + 1;
/** Points of before 2026-11-30 end here. */
const OLD_FIELDS = LAG + 1;
/** Fields of a network. */
const [CACHE_LOOKUPS, CACHE_HITS] = [OLD_FIELDS, OLD_FIELDS + 1];
/** Fields of an upstream: total duration of its requests, and responses after which another one was tried. */
const [SECONDS, UNUSABLE] = [OLD_FIELDS, OLD_FIELDS + 1];
/** Fields of an upstream: the time in which its circuit was measured, and in which it was closed. */
const [MEASURED_S, UP_S] = [OLD_FIELDS + 2, OLD_FIELDS + 3];
const FIELDS = OLD_FIELDS + 4;

/** The numbers of one series. */
type Row = Float32Array | Float64Array;
/** Rows by name of the series: `network`, or `network upstream`. */
type Rows = ReadonlyMap<string, Row>;

/** One step, or a part of it. Series without traffic are left out. */
export interface HistoryPoint {
  /** Begin of the step, in seconds since 1970. */
  readonly at: number;
  readonly names: readonly string[];
  /** The rows of these names, one after the other. */
  readonly values: Float32Array;
}

/** Values of one series in a step. */
export interface SeriesStep {
  readonly counts: Row;
  readonly buckets: Row;
  readonly lag: number;
  /** The time that the circuit of the upstream was measured, and that it was closed, of all gateways. */
  readonly measuredS: number;
  readonly upS: number;
}

/** @param given numbers of stored rows @returns undefined if their count is not that of a point */
export function valuesFrom(given: readonly number[], rows: number): Float32Array | undefined {
  if (given.length === rows * FIELDS) return Float32Array.from(given);
  if (given.length !== rows * OLD_FIELDS) return undefined;
  const values = new Float32Array(rows * FIELDS);
  for (let index = 0; index < rows; index++)
    values.set(given.slice(index * OLD_FIELDS, (index + 1) * OLD_FIELDS), index * FIELDS);
  return values;
}

/** @returns undefined if the series had no traffic */
export function seriesIn({ names, values }: HistoryPoint, name: string): SeriesStep | undefined {
  const index = names.indexOf(name);
  if (index === -1) return undefined;
  const row = values.subarray(index * FIELDS, (index + 1) * FIELDS);
  const [counts, buckets, lag = NaN] = [row.subarray(0, BUCKETS), row.subarray(BUCKETS, LAG), row[LAG]];
  return { counts, buckets, lag, measuredS: row[MEASURED_S] ?? 0, upS: row[UP_S] ?? 0 };
}

export function rowsOf({ names, values }: HistoryPoint): Rows {
  return new Map(names.map((name, index) => [name, values.subarray(index * FIELDS, (index + 1) * FIELDS)]));
}

export function pointOf(at: number, rows: Rows): HistoryPoint {
  const values = new Float32Array(rows.size * FIELDS);
  [...rows.values()].forEach((row, index) => {
    values.set(row, index * FIELDS);
  });
  return { at, names: [...rows.keys()], values };
}

/** Adds up points of one step: parts of it, or those of several gateways. A lag is the longest of them. */
export function addPoints(first: HistoryPoint, second: HistoryPoint): HistoryPoint {
  const rows = new Map<string, Row>();
  for (const point of [first, second]) addRows(rows, rowsOf(point));
  return pointOf(first.at, rows);
}

/** The requests to an upstream in one step of 30 s. */
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

/** The totals of one process since its start. */
export type HistoryTotals = Rows;

/** A step in progress. */
interface OpenStep {
  readonly number: number;
  readonly rows: Map<string, Row>;
}

/** The status page shows ten minutes in steps of `1h`, and of calls the last minute. */
const RECENT_STEPS = 20;
const MINUTE_STEPS = 2;
/** A step is read at most this long after its end. */
const TICK_MS = 10_000;
/** Id of this process, beside the ids of other workers. */
const OWN = -1;

const failureKinds: Readonly<Record<string, number>> = {
  ...{ transport: 1, slow: 1 },
  ...{ rate: 2, quota: 2, auth: 5, 'wrong-chain': 6 },
  ...{ unsupported: 3, 'too-large': 3, 'not-found': 3, 'node-state': 3, 'no-block': 3 },
};
const INVALID = 4;
const outcomeFields = { served: undefined, rejected: 1, 'upstream-error': 2, failed: 3 } as const;

/**
 * The calls of networks and the requests to upstreams, in steps of each range. It reads the counters once in 30 s, so that calls
 * cost nothing. With workers, each has the sums of all.
 */
export class History {
  readonly #page: Registry;
  readonly #points: Readonly<Record<HistoryRange, HistoryPoint[]>> = {
    ...{ '1h': [], '24h': [], '7d': [], '30d': [], '90d': [] },
  };
  readonly #open = new Map<HistoryRange, OpenStep>();
  /** The latest steps of `1h` of this process, oldest first, with the time that each took. */
  readonly #recent: { readonly seconds: number; readonly rows: Rows }[] = [];
  /** The totals of each process when they were last read. */
  #last: ReadonlyMap<number, HistoryTotals> = new Map();
  /** Time that each upstream was measured, and that it was up, in the points of 24 h. */
  #uptimes: Rows = new Map();
  #sampledAt = clock.now();
  #timer: Timer | undefined;
  /** Listener for each new point, which may be a further part of its step. */
  onPoint: (range: HistoryRange, point: HistoryPoint) => void = () => undefined;

  constructor(page: Registry) {
    this.#page = page;
  }

  /**
   * Samples until `stop`.
   * @param active the upstreams of the active configuration
   * @param readOthers the totals of other workers, by their ids
   */
  start(active: () => readonly ActiveUpstream[], readOthers?: () => Promise<ReadonlyMap<number, HistoryTotals>>): void {
    const sample = async (): Promise<void> => {
      if (this.#isStepOver('1h')) this.sample(active(), await readOthers?.());
    };
    void sample();
    this.#timer ??= clock.setInterval(() => void sample(), TICK_MS).unref();
  }

  /** Ends all steps before they are over: the next process counts the rest. Stores have to get them before they are closed. */
  stop(): void {
    clock.clearInterval(this.#timer);
    if (this.#open.size === 0) return;
    const added = this.#addSince(new Map());
    for (const range of rangeNames) this.#endStep(range, added);
    this.#open.clear();
  }

  /** Points of a range, oldest first. */
  pointsOf(range: HistoryRange): readonly HistoryPoint[] {
    return this.#points[range];
  }

  /** The last ten minutes of an upstream, oldest first; fewer than 20 steps since the start. */
  bucketsOf(network: string, upstream: string): readonly HistoryBucket[] {
    return this.#recentOf(`${network} ${upstream}`).map((row) => ({
      sent: row[0] ?? 0,
      failed: sum(row.subarray(1, BUCKETS)) + (row[UNUSABLE] ?? 0),
      seconds: Math.round((row[SECONDS] ?? 0) * 1000) / 1000,
    }));
  }

  /** Availability of an upstream at this process in the last 24 hours; undefined until it is used. */
  availabilityOf(network: string, upstream: string): Availability | undefined {
    const name = `${network} ${upstream}`;
    const rows = [this.#uptimes.get(name), this.#open.get('24h')?.rows.get(name)];
    const [overS, upS] = [MEASURED_S, UP_S].map((field) => rows.reduce((total, row) => total + (row?.[field] ?? 0), 0));
    return overS ? { share: (upS ?? 0) / overS, overS: Math.round(overS) } : undefined;
  }

  /** Activity of a network; undefined until a step has ended. */
  activityOf(network: string): NetworkActivity | undefined {
    if (this.#recent.length === 0) return undefined;
    const row = newRow();
    for (const added of this.#recentOf(network).slice(-MINUTE_STEPS)) addRow(row, added);
    const [ended = 0, rejected = 0, , failed = 0] = row;
    const buckets = [...row.subarray(BUCKETS, LAG)];
    const overS = this.#recent.slice(-MINUTE_STEPS).reduce((total, { seconds }) => total + seconds, 0);
    const share = (count = 0, of = 0): number | undefined => (of === 0 ? undefined : count / of);
    return {
      perSecond: sum(buckets) / overS,
      p50Ms: quantileMs(DURATION_BUCKETS_S, buckets, 0.5),
      p99Ms: quantileMs(DURATION_BUCKETS_S, buckets, 0.99),
      failedShare: share(failed, ended),
      rejectedShare: share(rejected, ended),
      cacheHitRate: share(row[CACHE_HITS], row[CACHE_LOOKUPS]),
    };
  }

  /** Reads the counters, and ends the steps that are over. */
  sample(active: readonly ActiveUpstream[], others: ReadonlyMap<number, HistoryTotals> = new Map()): void {
    const seconds = (clock.now() - this.#sampledAt) / 1000;
    this.#sampledAt = clock.now();
    const added = this.#addSince(others, active, seconds);
    const isHourOver = this.#isStepOver('7d');
    for (const range of rangeNames) {
      // Each hour of a longer step is a point of its own: a process that is killed loses no more.
      const isPartOver = isHourOver && historyRanges[range].stepS > historyRanges['7d'].stepS;
      if (!isPartOver && !this.#isStepOver(range)) continue;
      this.#endStep(range, added);
      if (range === '1h' && this.#open.has(range)) this.#recent.push({ seconds, rows: added });
      if (this.#recent.length > RECENT_STEPS) this.#recent.shift();
      this.#open.set(range, { number: stepNumber(range), rows: new Map() });
    }
  }

  #isStepOver(range: HistoryRange): boolean {
    return this.#open.get(range)?.number !== stepNumber(range);
  }

  /** Rows of the latest steps; one of zeros for a step without traffic. No rows: the series has had no traffic. */
  #recentOf(name: string): Row[] {
    const rows = this.#recent.map((step) => step.rows.get(name));
    const first = rows.findIndex((row) => row !== undefined);
    return first === -1 ? [] : rows.slice(first).map((row) => row ?? newRow());
  }

  /** Adds what has come since the last sample to the steps in progress, and returns it. */
  #addSince(
    others: ReadonlyMap<number, HistoryTotals>,
    active: readonly ActiveUpstream[] = [],
    seconds = 0,
  ): Map<string, Row> {
    const added = new Map<string, Row>();
    const present = new Map([[OWN, this.totals()], ...others]);
    for (const [process, totals] of present) {
      const before = this.#last.get(process);
      // What another worker counted before it was first read is in no step of this one.
      if (before === undefined && process !== OWN) continue;
      for (const [name, row] of totals) addRow(rowIn(added, name), increase(row, before?.get(name)));
    }
    this.#last = present;
    for (const { network, upstream, lag, circuit, isMeasured } of active) {
      const row = rowIn(added, `${network} ${upstream}`);
      row[LAG] = lag ?? NaN;
      if (!isMeasured) continue;
      row[MEASURED_S] = seconds;
      row[UP_S] = circuit === 'closed' ? seconds : 0;
    }
    for (const { rows } of this.#open.values()) addRows(rows, added);
    return added;
  }

  /** @param added by the last sample: the lag is that at the end of the step */
  #endStep(range: HistoryRange, added: Rows): void {
    const step = this.#open.get(range);
    if (step === undefined) return;
    for (const [name, row] of step.rows) {
      row[LAG] = added.get(name)?.[LAG] ?? NaN;
      if (row[0] === 0 && Number.isNaN(row[LAG]) && row[MEASURED_S] === 0) step.rows.delete(name);
    }
    const { stepS, steps } = historyRanges[range];
    const point = pointOf(step.number * stepS, step.rows);
    const points = this.#points[range];
    const last = points.at(-1);
    if (last?.at === point.at) points[points.length - 1] = addPoints(last, point);
    else points.push(point);
    if (points.length > steps) points.shift();
    if (range === '24h') {
      const uptimes = new Map<string, Row>();
      for (const each of points) addRows(uptimes, rowsOf(each));
      this.#uptimes = uptimes;
    }
    this.onPoint(range, point);
  }

  /** Totals of this process. */
  totals(): Map<string, Row> {
    const totals = new Map<string, Row>();
    const rowOf = ({ network = '', upstream }: Partial<Record<string, string>>): Row =>
      rowIn(totals, upstream === undefined ? network : `${network} ${upstream}`);
    const counted = (name: Parameters<typeof numbers>[1]) =>
      numbers(this.#page, name)
        .children()
        .map(({ labels, child: { value = 0 } }) => ({ row: rowOf(labels), outcome: labels['outcome'] ?? '', value }));
    for (const { row, outcome, value } of counted('gatehouse_calls_total')) {
      const field = outcomeFields[outcomeClassOf(outcome)];
      add(row, 0, value);
      if (field !== undefined) add(row, field, value);
    }
    for (const { row, outcome, value } of counted('gatehouse_cache_lookups_total')) {
      add(row, CACHE_LOOKUPS, value);
      if (outcome !== 'miss') add(row, CACHE_HITS, value);
    }
    for (const { row, outcome, value } of counted('gatehouse_upstream_attempts_total')) {
      add(row, 0, value);
      if (outcome !== 'response' && outcome !== 'cancelled') add(row, failureKinds[outcome] ?? INVALID, value);
    }
    for (const { row, value } of counted('gatehouse_upstream_unusable_responses_total')) add(row, UNUSABLE, value);
    const attemptSeconds = histogram(this.#page, 'gatehouse_upstream_attempt_duration_seconds').children();
    for (const { labels, child } of attemptSeconds) add(rowOf(labels), SECONDS, child.sum);
    const callSeconds = histogram(this.#page, 'gatehouse_call_duration_seconds').children();
    for (const { labels, child } of [...callSeconds, ...attemptSeconds])
      for (const [index, count] of child.counts.entries()) add(rowOf(labels), BUCKETS + index, count);
    return totals;
  }
}

function stepNumber(range: HistoryRange): number {
  return Math.floor(clock.unixMs() / 1000 / historyRanges[range].stepS);
}

function newRow(): Row {
  const row = new Float64Array(FIELDS);
  row[LAG] = NaN;
  return row;
}

function rowIn(rows: Map<string, Row>, name: string): Row {
  const known = rows.get(name);
  if (known !== undefined) return known;
  const row = newRow();
  rows.set(name, row);
  return row;
}

function add(row: Row, field: number, value: number): void {
  row[field] = (row[field] ?? 0) + value;
}

/** Adds the numbers of a row. A lag is the longest of both. */
function addRow(row: Row, added: Row): void {
  for (const [field, value] of added.entries()) {
    if (field !== LAG) add(row, field, value);
    else if (!((row[LAG] ?? NaN) >= value) && !Number.isNaN(value)) row[LAG] = value;
  }
}

function addRows(rows: Map<string, Row>, added: Rows): void {
  for (const [name, row] of added) addRow(rowIn(rows, name), row);
}

/** A counter that was removed meanwhile restarts at 0. */
function increase(now: Row, before: Row | undefined): Row {
  if (before === undefined || now.some((value, field) => value < (before[field] ?? 0))) return now;
  return now.map((value, field) => value - (before[field] ?? 0));
}

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((total, value) => total + value, 0);
}
