import { CallPermissions } from './permissions/call-permissions.ts';
import { EntryPermissions } from './permissions/entry-permissions.ts';
import { rateOf, parsePermissions, type KeyPermissions, type Rate } from './permissions/permissions.ts';
import type { KeyRecord } from './stores/key-store.ts';

/** A key that was let in, with its rules compiled. What it has no rules of is not there: one look shows that. */
export interface KeyAccess {
  readonly record: KeyRecord;
  readonly entry: EntryPermissions | undefined;
  readonly calls: CallPermissions | undefined;
  readonly limits: KeyLimits | undefined;
  /** Whether it may ask how its calls came to their answers. */
  readonly canExplain: boolean;
}

/** How much a key may do. Rates and quotas count weights of methods. */
export interface KeyLimits {
  /** Whose account is charged: a key's own id, or that of the key it took over from. */
  readonly account: string;
  readonly rate: Rate | undefined;
  readonly methodRates: ReadonlyMap<string, Rate> | undefined;
  readonly daily: number | undefined;
  readonly monthly: number | undefined;
  /** Whether there is any of these. What follows bounds what is open at once, and costs calls nothing. */
  readonly isCharged: boolean;
  readonly sockets: number | undefined;
  readonly subscriptions: number | undefined;
}

/** What is open at once is counted by it, too: to rotate a key gives nobody twice its limits. */
export function accountOf({ record: { id, permissions } }: KeyAccess): string {
  return permissions?.['account'] ?? id;
}

/** Done once for each record that is looked up. @throws KeyRulesError */
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
