import { CallPermissions } from './permissions/call-permissions.ts';
import { EntryPermissions } from './permissions/entry-permissions.ts';
import { rateOf, parsePermissions, type KeyPermissions, type Rate } from './permissions/permissions.ts';
import type { KeyRecord } from './stores/key-store.ts';

/** An authenticated key with its compiled permissions. A part without permissions is undefined, so its check is skipped. */
export interface KeyAccess {
  readonly record: KeyRecord;
  readonly entry: EntryPermissions | undefined;
  readonly calls: CallPermissions | undefined;
  readonly limits: KeyLimits | undefined;
  /** Whether the key has the capability `explain`. */
  readonly canExplain: boolean;
}

/** Limits of a key. Rates and quotas are in request units. */
export interface KeyLimits {
  /** Id of the account that is charged: the key's own id, or the id of the key that it replaced by rotation. */
  readonly account: string;
  readonly rate: Rate | undefined;
  readonly methodRates: ReadonlyMap<string, Rate> | undefined;
  readonly daily: number | undefined;
  readonly monthly: number | undefined;
  /** Whether any of the limits above is set. The limits below count open connections: calls are not charged to them. */
  readonly isCharged: boolean;
  readonly sockets: number | undefined;
  readonly subscriptions: number | undefined;
}

/** Open sockets and subscriptions are counted by account too, so that rotating a key does not double its limits. */
export function accountOf({ record: { id, permissions } }: KeyAccess): string {
  return permissions?.['account'] ?? id;
}

/** Runs once per lookup. @throws InvalidPermissionsError */
export function compileAccess(record: KeyRecord): KeyAccess {
  if (record.permissions === undefined)
    return { record, entry: undefined, calls: undefined, limits: undefined, canExplain: false };
  const permissions = parsePermissions(record.permissions);
  const has = (...names: (keyof KeyPermissions)[]): boolean => names.some((name) => permissions[name] !== undefined);
  return {
    record,
    entry: has('expiresAt', 'secrets', 'networks', 'origins', 'userAgents', 'ips')
      ? new EntryPermissions(permissions)
      : undefined,
    calls: has('methods', 'contracts') ? new CallPermissions(permissions) : undefined,
    limits: has('rate', 'methodRates', 'daily', 'monthly', 'sockets', 'subscriptions')
      ? limitsOf(record, permissions)
      : undefined,
    canExplain: permissions.permissions?.includes('explain') === true,
  };
}

function limitsOf({ id }: KeyRecord, { account, rate, burst, ...permissions }: KeyPermissions): KeyLimits {
  const { methodRates, daily, monthly, sockets, subscriptions } = permissions;
  const isCharged = [rate, methodRates, daily, monthly].some((limit) => limit !== undefined);
  const charged = { rate: rateOf(rate, burst), methodRates, daily, monthly };
  return { account: account ?? id, ...charged, isCharged, sockets, subscriptions };
}
