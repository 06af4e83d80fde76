import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { newAmounts, type Amounts, type UsageStore } from '../../usage/usage-store.ts';
import type { ListedKey } from './list-keys.ts';

/** The usage of each key on all days, one key after the other: a file is read synchronously. @throws as the store does */
export async function sumUsage(
  store: UsageStore,
  keys: readonly ListedKey[],
  days: readonly string[],
): Promise<Amounts[]> {
  const sums: Amounts[] = [];
  for (const { record } of keys) {
    await timeSlicer.next();
    const sum = newAmounts();
    for (const { calls, units, errors, bytes } of await store.read(record.id, days)) {
      sum.calls += calls;
      sum.units += units;
      sum.errors += errors;
      sum.bytes += bytes;
    }
    sums.push(sum);
  }
  return sums;
}
