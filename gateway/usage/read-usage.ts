import { addAmounts, byDayAndMethod, type UsageRow, type UsageStore } from './usage-store.ts';

/** Keys that are read at the same time. */
const MAX_CONCURRENT_KEYS = 10;

/** The usage of keys, summed by day, network and method. @throws what the store throws */
export async function readUsage(
  store: UsageStore,
  keys: readonly string[],
  days: readonly string[],
): Promise<UsageRow[]> {
  const sums = new Map<string, UsageRow>();
  for (let from = 0; from < keys.length; from += MAX_CONCURRENT_KEYS) {
    const some = keys.slice(from, from + MAX_CONCURRENT_KEYS);
    for (const row of (await Promise.all(some.map((key) => store.read(key, days)))).flat()) addRow(sums, row);
  }
  return [...sums.values()].sort(byDayAndMethod);
}

function addRow(sums: Map<string, UsageRow>, row: UsageRow): void {
  const place = `${row.day} ${row.network} ${row.method}`;
  const sum = sums.get(place);
  if (sum === undefined) {
    sums.set(place, row);
    return;
  }
  addAmounts(sum, row);
  if (row.reasons === undefined) return;
  const reasons: Record<string, number> = { ...sum.reasons };
  for (const [reason, errors] of Object.entries(row.reasons)) reasons[reason] = (reasons[reason] ?? 0) + errors;
  sum.reasons = reasons;
}
