import { displayedRecord } from '../../auth/manage/displayed-record.ts';
import { keyStateOf } from '../../auth/manage/key-state.ts';
import type { KeyRecord } from '../../auth/stores/key-store.ts';
import { causeOf, type Log } from '../../config/log.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import type { Amounts, UsageStore } from '../../usage/usage-store.ts';
import type { ListedKey } from './list-keys.ts';

/** A key as the admin API has it: its record with its state. */
export function shownKey(record: KeyRecord, state = keyStateOf(record)): object {
  // A record with problems has another state: they are not searched again.
  const isValid = state === 'active' || state === 'development';
  return { ...displayedRecord(record, isValid ? [] : undefined), state };
}

/** The keys of a listing, made in time slices. @param usage of each key, or undefined */
export async function shownKeys(keys: readonly ListedKey[], usage: readonly Amounts[] | undefined): Promise<object[]> {
  const shown: object[] = [];
  for (const [index, { record, state }] of keys.entries()) {
    await timeSlicer.next();
    shown.push({ ...shownKey(record, state), usage: usage?.[index] });
  }
  return shown;
}

/** The usage of each key on all days. @returns undefined if the store fails, which is logged: the list is shown without it */
export async function readListUsage(
  store: UsageStore,
  keys: readonly ListedKey[],
  days: readonly string[],
  log: Log,
): Promise<Amounts[] | undefined> {
  const ids = keys.map(({ record }) => record.id);
  try {
    return await store.sum(ids, days);
  } catch (error) {
    log.warn(causeOf(error), 'usage cannot be read: the list of keys is without it');
    return undefined;
  }
}
