import { DURATION_BUCKETS_S } from '../../metrics/counters.ts';
import {
  historyRanges,
  networkCounts,
  seriesIn,
  upstreamCounts,
  type HistoryPoint,
  type HistoryRange,
  type SeriesStep,
} from '../../metrics/history.ts';
import { quantileMs } from '../../metrics/quantile.ts';

/** Numbers of each step; null: unknown. */
type Columns = Readonly<Record<string, readonly (number | null)[]>>;

export interface NetworkOverTime {
  readonly stepS: number;
  /** Begin of each step, in seconds since 1970; steps without data are in it. */
  readonly at: readonly number[];
  readonly network: Columns;
  readonly upstreams: Readonly<Record<string, Columns>>;
}

/** The history of a network and of its upstreams, in columns. @param nowS seconds since 1970 */
export function networkOverTime(
  range: HistoryRange,
  points: readonly HistoryPoint[],
  slug: string,
  upstreams: readonly string[],
  nowS: number,
): NetworkOverTime {
  const { stepS, steps } = historyRanges[range];
  const last = Math.floor(nowS / stepS) * stepS - stepS;
  const at = Array.from({ length: steps }, (_, index) => last - (steps - 1 - index) * stepS);
  const byTime = new Map(points.map((point) => [point.at, point]));
  const rows = at.map((time) => byTime.get(time));
  /** A step without traffic has no counts and no durations; null: a step of which nothing is known. */
  const stepsOf = (name: string): (SeriesStep | null)[] =>
    rows.map((point) => (point === undefined ? null : (seriesIn(point, name) ?? withoutTraffic)));
  return {
    ...{ stepS, at, network: columnsOf(stepsOf(slug), networkCounts) },
    upstreams: Object.fromEntries(
      upstreams.map((name) => {
        const series = stepsOf(`${slug} ${name}`);
        const of = (field: 'lag' | 'measuredS' | 'upS') => column(series, (step) => step[field]);
        const state = { lag: of('lag'), measuredS: of('measuredS'), upS: of('upS') };
        return [name, { ...columnsOf(series, upstreamCounts), ...state }];
      }),
    ),
  };
}

const withoutTraffic: SeriesStep = {
  ...{ counts: new Float32Array(), buckets: new Float32Array(), lag: NaN, measuredS: 0, upS: 0 },
};

function columnsOf(series: readonly (SeriesStep | null)[], counts: readonly string[]): Columns {
  const quantile = (share: number) =>
    column(series, ({ buckets }) => quantileMs(DURATION_BUCKETS_S, [...buckets], share) ?? NaN);
  return {
    ...Object.fromEntries(counts.map((name, index) => [name, column(series, (step) => step.counts[index] ?? 0)])),
    ...{ p50Ms: quantile(0.5), p99Ms: quantile(0.99) },
  };
}

function column(
  series: readonly (SeriesStep | null)[],
  valueOf: (step: SeriesStep) => number,
): readonly (number | null)[] {
  return series.map((step) => {
    const value = step === null ? NaN : valueOf(step);
    return Number.isNaN(value) ? null : Math.round(value * 100) / 100;
  });
}
