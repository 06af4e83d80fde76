import { displayedRecord } from '../../auth/manage/displayed-record.ts';
import { keyStateOf } from '../../auth/manage/key-state.ts';
import type { KeyRecord } from '../../auth/stores/key-store.ts';
import { StoreUnreachable } from '../../store/store-error.ts';
import { causeOf, type Log } from '../../config/log.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import type { UsageStore, UsageSum } from '../../usage/usage-store.ts';
import { compileAccess } from '../../auth/key-access.ts';
import { InvalidPermissionsError } from '../../auth/permissions/permissions.ts';
import { recordWithPlan, type PlanSource } from '../../auth/permissions/plans.ts';
import type { QuotaUse } from '../../limits/limit-state.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { ListedKey } from './list-keys.ts';

/** A key as the admin API has it: its record with its state. */
export function shownKey(record: KeyRecord, plans: PlanSource, state = keyStateOf(record, plans)): object {
  // A record with problems has another state: they are not searched again.
  const isValid = state === 'active' || state === 'development';
  return { ...displayedRecord(record, plans, isValid ? [] : undefined), state };
}

/**
 * The keys of a listing, made in time slices.
 * @param usage of each key, or undefined
 * @param quotasOf how much of its quotas a key has used
 */
export async function shownKeys(
  keys: readonly ListedKey[],
  plans: PlanSource,
  usage: readonly UsageSum[] | undefined,
  quotasOf?: (record: KeyRecord) => Promise<readonly QuotaUse[] | undefined>,
): Promise<object[]> {
  const shown: object[] = [];
  const quotas = await Promise.all(keys.map(async ({ record }) => quotasOf?.(record)));
  for (const [index, { record, state }] of keys.entries()) {
    await timeSlicer.next();
    shown.push({ ...shownKey(record, plans, state), usage: usage?.[index], quotas: quotas[index] });
  }
  return shown;
}

/**
 * How much of its quotas the account of a key has used.
 * @returns undefined without quotas, or if the record is invalid or the store fails: then the key is shown without them
 */
export async function readQuotas(
  limiter: Limiter,
  record: KeyRecord,
  plans: PlanSource,
): Promise<readonly QuotaUse[] | undefined> {
  try {
    const { permissions = {}, ...own } = recordWithPlan(record, plans);
    if (permissions['daily'] === undefined && permissions['monthly'] === undefined) return undefined;
    const { limits } = compileAccess({ ...own, permissions });
    return limits && (await limiter.readQuotas(limits));
  } catch (error) {
    if (error instanceof StoreUnreachable || error instanceof InvalidPermissionsError) return undefined;
    throw error;
  }
}

/** The usage of each key on all days. @returns undefined if the store fails, which is logged: the list is shown without it */
export async function readListUsage(
  store: UsageStore,
  keys: readonly ListedKey[],
  days: readonly string[],
  log: Log,
): Promise<UsageSum[] | undefined> {
  const ids = keys.map(({ record }) => record.id);
  try {
    return await store.sum(ids, days);
  } catch (error) {
    log.warn(causeOf(error), 'usage cannot be read: the list of keys is without it');
    return undefined;
  }
}
