import type { Account } from '../admission/account.ts';
import type { MemoryBudget } from '../memory/memory-budget.ts';
import { tooManyValues, valuesOf, type SubscriptionParams } from './subscription-params.ts';

/** Memory of each address, topic and hash (measured 2026-11-24). */
const VALUE_BYTES = 250;

export interface KeptValuesOptions {
  /** Budget of memory; undefined: nothing is accounted. */
  readonly memory: MemoryBudget | undefined;
  /** Limit of the addresses, topics and hashes of one key's filters and subscriptions on all networks. */
  readonly valuesMax: number;
}

/**
 * Accounts what a filter or subscription keeps until it ends.
 * @param ownBytes besides its values
 * @returns releases it; to be called once
 * @throws RpcError beyond-bound, overloaded, memory-share; then nothing is accounted
 */
export function keepValues(
  params: SubscriptionParams,
  account: Account,
  { memory, valuesMax }: KeptValuesOptions,
  ownBytes = 0,
): () => void {
  const values = valuesOf(params);
  if (account.keptValues + values > valuesMax) throw tooManyValues(values, account.keptValues, valuesMax);
  const bytes = ownBytes + values * VALUE_BYTES;
  memory?.take(account, bytes);
  account.keptValues += values;
  return () => {
    memory?.add(account, -bytes);
    account.keptValues -= values;
  };
}
