import { DURATION_BUCKETS_S, quantileMs } from '../../metrics/counters.ts';
import {
  historyRanges,
  networkCounts,
  seriesIn,
  upstreamCounts,
  type HistoryPoint,
  type HistoryRange,
  type SeriesStep,
} from '../../metrics/history.ts';

/** Numbers of each step; null: unknown. */
type Columns = Readonly<Record<string, readonly (number | null)[]>>;
/** The steps of a series; null: a step of which nothing is known. */
type Series = readonly (SeriesStep | null)[];

/** The history of some networks together. */
export interface OverTime {
  readonly stepS: number;
  /** Begin of each step, in seconds since 1970; steps without data are in it. */
  readonly at: readonly number[];
  readonly network: Columns;
  /** The counts and percentiles of the whole range, with the step in progress. */
  readonly total: Readonly<Record<string, number | null>>;
  /** Share of each step in which no upstream of a network worked, at most; of several networks the largest. */
  readonly down: readonly (number | null)[];
}

export interface NetworkOverTime extends OverTime {
  readonly upstreams: Readonly<Record<string, Columns>>;
  /** Share of the time of the range in which an upstream worked; null: unknown. */
  readonly uptime: number | null;
}

/** A network with its history. */
export interface NetworkPoints {
  readonly slug: string;
  readonly upstreams: readonly string[];
  readonly points: readonly HistoryPoint[];
  /** Points of `1h`, for the total: they have the step in progress. */
  readonly recent: readonly HistoryPoint[];
}

/** The history of a network and of its upstreams, in columns. @param nowS seconds since 1970 */
export function networkOverTime(range: HistoryRange, network: NetworkPoints, nowS: number): NetworkOverTime {
  const at = timesOf(range, nowS);
  const { slug, upstreams, points } = network;
  const all = gatewayOverTime(range, [network], nowS);
  return {
    ...all,
    uptime: uptimeOf(range, network, all.down, nowS),
    upstreams: Object.fromEntries(
      upstreams.map((name) => {
        const series = seriesAt(at, points, `${slug} ${name}`);
        const of = (field: 'lag' | 'measuredS' | 'upS') => column(series, (step) => step[field]);
        const state = { lag: of('lag'), measuredS: of('measuredS'), upS: of('upS') };
        return [name, { ...columnsOf(series, upstreamCounts), ...state }];
      }),
    ),
  };
}

/** Share of the known time in which an upstream worked, with the step in progress. @param down share of each full step */
function uptimeOf(
  range: HistoryRange,
  network: NetworkPoints,
  down: readonly (number | null)[],
  nowS: number,
): number | null {
  const parts = partsInProgress(range, network, nowS);
  const points = parts.map(({ point }) => point);
  const at = points.map((point) => point.at);
  const shares = [
    ...down.map((share) => ({ share, seconds: historyRanges[range].stepS })),
    ...downIn(at, { ...network, points }).map((share, index) => ({ share, seconds: parts[index]?.seconds ?? 0 })),
  ].filter(({ share }) => share !== null);
  const knownS = shares.reduce((sum, { seconds }) => sum + seconds, 0);
  return knownS === 0 ? null : 1 - shares.reduce((sum, { share, seconds }) => sum + (share ?? 0) * seconds, 0) / knownS;
}

/** The sum of the histories of networks, in columns. @param nowS seconds since 1970 */
export function gatewayOverTime(range: HistoryRange, networks: readonly NetworkPoints[], nowS: number): OverTime {
  const at = timesOf(range, nowS);
  const all = networks.map(({ slug, points }) => seriesAt(at, points, slug));
  const series = at.map((_, index) => sumOf(all.map((steps) => steps[index] ?? null)));
  const down = networks.map((network) => downIn(at, network));
  const total = columnsOf(
    [sumOf([...series, ...networks.flatMap((one) => inProgress(range, one, nowS))])],
    networkCounts,
  );
  return {
    ...{ stepS: historyRanges[range].stepS, at, network: columnsOf(series, networkCounts) },
    total: Object.fromEntries(Object.entries(total).map(([name, [value = null]]) => [name, value])),
    down: at.map((_, index) => down.reduce<number | null>((most, shares) => larger(most, shares[index] ?? null), null)),
  };
}

function inProgress(range: HistoryRange, network: NetworkPoints, nowS: number): Series {
  return partsInProgress(range, network, nowS).map(({ point }) => seriesIn(point, network.slug) ?? null);
}

/** Parts of the step in progress that are known: the hours of a long one that have ended, and then the steps of `1h`. */
function partsInProgress(
  range: HistoryRange,
  { points, recent }: NetworkPoints,
  nowS: number,
): { readonly point: HistoryPoint; readonly seconds: number }[] {
  const { stepS } = historyRanges[range];
  const beginS = Math.floor(nowS / stepS) * stepS;
  const partS = Math.min(stepS, historyRanges['7d'].stepS);
  const recentS = Math.floor(nowS / partS) * partS;
  return [
    ...points.filter(({ at }) => at === beginS).map((point) => ({ point, seconds: recentS - beginS })),
    ...recent.filter(({ at }) => at >= recentS).map((point) => ({ point, seconds: historyRanges['1h'].stepS })),
  ];
}

function timesOf(range: HistoryRange, nowS: number): number[] {
  const { stepS, steps } = historyRanges[range];
  const last = Math.floor(nowS / stepS) * stepS - stepS;
  return Array.from({ length: steps }, (_, index) => last - (steps - 1 - index) * stepS);
}

/** A step without traffic has no counts and no durations. */
function seriesAt(at: readonly number[], points: readonly HistoryPoint[], name: string): Series {
  const byTime = new Map(points.map((point) => [point.at, point]));
  return at.map((time) => {
    const point = byTime.get(time);
    return point === undefined ? null : (seriesIn(point, name) ?? withoutTraffic);
  });
}

const withoutTraffic: SeriesStep = {
  ...{ counts: new Float32Array(), buckets: new Float32Array(), lag: NaN, measuredS: 0, upS: 0 },
};

/** The sum of counts and durations; null if nothing is known of any. */
function sumOf(series: Series): SeriesStep | null {
  const known = series.filter((step) => step !== null);
  const sum = (rows: readonly SeriesStep['counts'][]): Float64Array => {
    const total = new Float64Array(Math.max(0, ...rows.map(({ length }) => length)));
    for (const row of rows) for (const [index, value] of row.entries()) total[index] = (total[index] ?? 0) + value;
    return total;
  };
  if (known.length === 0) return null;
  const [counts, buckets] = [sum(known.map((step) => step.counts)), sum(known.map((step) => step.buckets))];
  return { ...withoutTraffic, counts, buckets };
}

/** The upstream that was up for the largest share of a step decides. */
function downIn(at: readonly number[], { slug, upstreams, points }: NetworkPoints): (number | null)[] {
  const all = upstreams.map((name) => seriesAt(at, points, `${slug} ${name}`));
  return at.map((_, index) => {
    const measured = all.flatMap((series) => series[index] ?? []).filter(({ measuredS }) => measuredS > 0);
    const up = Math.max(...measured.map(({ measuredS, upS }) => upS / measuredS));
    return measured.length === 0 ? null : Math.round((1 - Math.min(1, up)) * 1000) / 1000;
  });
}

function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function columnsOf(series: Series, counts: readonly string[]): Columns {
  const quantile = (share: number) =>
    column(series, ({ buckets }) => quantileMs(DURATION_BUCKETS_S, [...buckets], share) ?? NaN);
  return {
    ...Object.fromEntries(counts.map((name, index) => [name, column(series, (step) => step.counts[index] ?? 0)])),
    ...{ p50Ms: quantile(0.5), p99Ms: quantile(0.99) },
  };
}

function column(series: Series, valueOf: (step: SeriesStep) => number): readonly (number | null)[] {
  return series.map((step) => {
    const value = step === null ? NaN : valueOf(step);
    return Number.isNaN(value) ? null : Math.round(value * 100) / 100;
  });
}
