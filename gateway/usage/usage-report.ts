import { clock } from '../clock/clock.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import {
  addRow,
  byDayAndMethod,
  dayOf,
  newAmounts,
  rowOf,
  USAGE_RETENTION_DAYS,
  type Amounts,
  type RowAmounts,
  type UsageRow,
  type UsageStore,
} from './usage-store.ts';

/** Rows beyond twice the limit that are sorted at once, so that few are sorted often. */
const MIN_SORTED = 1_000;
/** Keys that are read at the same time. */
const MAX_CONCURRENT_KEYS = 10;

/** Parts that the rows of a report may have. */
export const reportParts = ['day', 'key', 'network', 'method'] as const;
export type ReportPart = (typeof reportParts)[number];
/** Parts of a row if no others are requested. */
export const defaultParts = ['key', 'network', 'method'] as const satisfies ReportPart[];

/** Sum of the days, with the requested parts, and beside a key its name. */
export type ReportRow = RowAmounts & Partial<Readonly<Record<ReportPart | 'name', string>>>;

/**
 * The usage of all keys on some days, in UTC, by these parts; most units first. Long work is in time slices.
 * @param limit maximum rows  @returns rows, and the number that they would be without the limit
 * @throws StoreError (rejects with it)
 */
export async function reportUsage(
  store: Pick<UsageStore, 'entries'>,
  days: readonly string[],
  by: readonly ReportPart[],
  limit = Infinity,
): Promise<{ readonly rows: ReportRow[]; readonly total: number }> {
  const sums = new Map<string, ReportRow>();
  for await (const { key, day, amounts } of store.entries(days))
    for (const { place, ...amount } of amounts) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      addTo(sums, by, { key, ...rowOf(day, place, amount) });
    }
  let rows: ReportRow[] = [];
  for (const sum of sums.values()) {
    const pause = timeSlicer.next();
    if (pause !== undefined) await pause;
    if (rows.push(sum) >= 2 * limit + MIN_SORTED) rows = rows.sort(byUnits).slice(0, limit);
  }
  return { rows: rows.sort(byUnits).slice(0, limit), total: sums.size };
}

/** The usage of keys, summed by day, network and method. @throws StoreError (rejects with it) */
export async function readUsage(
  store: UsageStore,
  keys: readonly string[],
  days: readonly string[],
): Promise<UsageRow[]> {
  const sums = new Map<string, ReportRow>();
  for (let from = 0; from < keys.length; from += MAX_CONCURRENT_KEYS) {
    const some = keys.slice(from, from + MAX_CONCURRENT_KEYS);
    for (const row of (await Promise.all(some.map((key) => store.read(key, days)))).flat())
      addTo(sums, ['day', 'network', 'method'], row);
  }
  return ([...sums.values()] as UsageRow[]).sort(byDayAndMethod);
}

/** Adds a row to the sum of those that are equal in these parts. */
function addTo(sums: Map<string, ReportRow>, by: readonly ReportPart[], row: ReportRow): void {
  const parts = by.map((part) => [part, row[part]] as const);
  const name = parts.map(([, text]) => text).join(' ');
  let sum = sums.get(name);
  if (sum === undefined) sums.set(name, (sum = { ...Object.fromEntries(parts), ...newAmounts() }));
  addRow(sum, row);
}

/** Adds the names of keys. `public`, `operator` and subjects of tokens have none. */
export function withNames(
  rows: readonly ReportRow[],
  records: Iterable<{ readonly id: string; readonly name: string }>,
): ReportRow[] {
  const names = new Map([...records].map(({ id, name }) => [id, name]));
  return rows.map((row) => {
    const name = names.get(row.key ?? '');
    return name === undefined ? row : { ...row, name };
  });
}

function byUnits(a: Amounts, b: Amounts): number {
  return b.units - a.units || b.calls - a.calls;
}

/** @param text `today`, `yesterday` or `2026-01-31` @returns undefined: it is no day of which usage is stored */
export function readReportDay(text: string): string | undefined {
  const now = clock.unixMs();
  const at = text === 'today' ? now : text === 'yesterday' ? now - 86_400_000 : Date.parse(`${text}T00:00:00Z`);
  const isKnown = at <= now && at > now - USAGE_RETENTION_DAYS * 86_400_000;
  return isKnown && (!/^\d/.test(text) || dayOf(at) === text) ? dayOf(at) : undefined;
}

/** @param text `key,network` @returns undefined: another text */
export function readReportParts(text: string): ReportPart[] | undefined {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const parts = reportParts.filter((part) => names.includes(part));
  return parts.length === names.length ? parts : undefined;
}
