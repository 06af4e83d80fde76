import { addRow, byDayAndMethod, type UsageRow, type UsageStore } from './usage-store.ts';

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
    for (const row of (await Promise.all(some.map((key) => store.read(key, days)))).flat()) {
      const place = `${row.day} ${row.network} ${row.method}`;
      const sum = sums.get(place);
      if (sum === undefined) sums.set(place, row);
      else addRow(sum, row);
    }
  }
  return [...sums.values()].sort(byDayAndMethod);
}
