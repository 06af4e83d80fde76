import {
  COUNTS,
  FIELDS,
  historyRanges,
  networkFields,
  upstreamFields,
  type HistoryPoint,
  type HistoryRange,
} from '../../metrics/long-history.ts';

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
  const columnsOf = (name: string, fields: readonly string[]): Columns => {
    // Once for all fields: a point has the names of all networks and upstreams.
    const found = rows.map((point) => point && { point, at: point.names.indexOf(name) });
    return Object.fromEntries(
      fields.flatMap((field, index) => (field === '' ? [] : [[field, found.map((one) => valueOf(one, index))]])),
    );
  };
  return {
    ...{ stepS, at, network: columnsOf(slug, networkFields) },
    upstreams: Object.fromEntries(upstreams.map((name) => [name, columnsOf(`${slug} ${name}`, upstreamFields)])),
  };
}

/** Of a step without traffic, counts are 0. */
function valueOf(found: { point: HistoryPoint; at: number } | undefined, field: number): number | null {
  if (found === undefined) return null;
  const { point, at } = found;
  if (at === -1) return field < COUNTS ? 0 : null;
  const value = point.values[at * FIELDS + field] ?? NaN;
  return Number.isNaN(value) ? null : Math.round(value * 100) / 100;
}
