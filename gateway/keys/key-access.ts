import { CallRules } from './call-rules.ts';
import { EntryRules } from './entry-rules.ts';
import { rateOf, readRules, type KeyRules, type Rate } from './key-rules.ts';
import type { KeyRecord } from './key-store.ts';

/** A key that was let in, with its rules compiled. What it has no rules of is not there: one look shows that. */
export interface KeyAccess {
  readonly record: KeyRecord;
  readonly entry: EntryRules | undefined;
  readonly calls: CallRules | undefined;
  readonly limits: KeyLimits | undefined;
  /** Whether it may ask how its calls came to their answers. */
  readonly mayExplain: boolean;
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
export function accountOf({ record: { id, rules } }: KeyAccess): string {
  return rules?.['account'] ?? id;
}

/** Done once for each record that is looked up. @throws KeyRulesError */
export function compileAccess(record: KeyRecord): KeyAccess {
  if (record.rules === undefined)
    return { record, entry: undefined, calls: undefined, limits: undefined, mayExplain: false };
  const rules = readRules(record.rules);
  const has = (...names: (keyof KeyRules)[]): boolean => names.some((name) => rules[name] !== undefined);
  return {
    record,
    entry: has('expiresAt', 'secrets', 'networks', 'origins', 'userAgents', 'ips') ? new EntryRules(rules) : undefined,
    calls: has('methods', 'contracts') ? new CallRules(rules) : undefined,
    limits: has('rate', 'methodRates', 'daily', 'monthly', 'sockets', 'subscriptions')
      ? limitsOf(record, rules)
      : undefined,
    mayExplain: rules.permissions?.includes('explain') === true,
  };
}

function limitsOf({ id }: KeyRecord, { account, rate, burst, ...rules }: KeyRules): KeyLimits {
  const { methodRates, daily, monthly, sockets, subscriptions } = rules;
  const isCharged = [rate, methodRates, daily, monthly].some((limit) => limit !== undefined);
  const charged = { rate: rateOf(rate, burst), methodRates, daily, monthly };
  return { account: account ?? id, ...charged, isCharged, sockets, subscriptions };
}
