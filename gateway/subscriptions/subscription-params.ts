import { beyondBound, RpcError } from '../jsonrpc/errors.ts';
import type { VerifyLevel } from '../network-files/options/verify-option.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { isHash } from '../chain/header.ts';
import { countValues, parseLogFilter, sizeOf, type FilterParams, type LogFilter } from '../chain/logs/log-filter.ts';

/** Parsed parameters of `eth_subscribe`. */
export type SubscriptionParams =
  | { readonly kind: 'newHeads' | 'syncing' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly isFull: boolean }
  /** Transaction hashes in lower case; empty: the receipts of all transactions. */
  | { readonly kind: 'transactionReceipts'; readonly hashes: ReadonlySet<string> };

export type SubscriptionKind = SubscriptionParams['kind'];

/** The methods whose level of verification a kind has: they return what it delivers. */
export const verifiedLike = {
  newHeads: nodeMethods.blockByNumber,
  logs: nodeMethods.logs,
  newPendingTransactions: nodeMethods.transactionByHash,
  transactionReceipts: nodeMethods.blockReceipts,
  syncing: nodeMethods.subscribe,
} as const satisfies Record<SubscriptionKind, string>;

/** How far what a kind delivers is proven, for one caller. */
export type LevelOf = (method: string) => VerifyLevel;

export const subscriptionKinds: readonly SubscriptionKind[] = [
  ...(['newHeads', 'logs', 'newPendingTransactions', 'transactionReceipts', 'syncing'] as const),
];

/** geth's limit (eth/filters/api.go, `maxTxHashes`). */
const MAX_HASHES = 200;

/** A filter counts as one more subscription for each 100 addresses and topics, because they stay in memory as long. */
const VALUES_PER_SUBSCRIPTION = 100;

/**
 * Checks what the schema cannot express: which second parameter each kind accepts. `newHeads` and `syncing` ignore the
 * second parameter, because old clients send one.
 * @param params of `eth_subscribe`, validated by the schema
 * @param valuesMax addresses and topics of a filter, as they are sent
 * @throws RpcError invalid-params, no-such-subscription, beyond-bound
 */
export function parseSubscriptionParams([kind, filter]: readonly unknown[], valuesMax: number): SubscriptionParams {
  switch (kind as SubscriptionKind) {
    case 'logs':
      if (typeof filter === 'boolean')
        throw new RpcError('invalid-params', 'invalid params: filter: expected log filter');
      return { kind: 'logs', filter: parseSubscriptionFilter(filter ?? {}, valuesMax) };
    case 'newPendingTransactions':
      if (typeof filter === 'object' && filter !== null)
        throw new RpcError('invalid-params', 'invalid params: filter: expected boolean');
      return { kind: 'newPendingTransactions', isFull: filter === true };
    case 'transactionReceipts':
      return { kind: 'transactionReceipts', hashes: parseHashes(filter) };
    case 'newHeads':
    case 'syncing':
      return { kind: kind as 'newHeads' | 'syncing' };
    default:
      throw noSuchSubscription(String(kind));
  }
}

/** Parses a filter. As in geth, a block hash does not narrow a subscription, which has logs of new blocks. */
function parseSubscriptionFilter(filter: FilterParams, valuesMax: number): LogFilter {
  const values = countValues(filter);
  if (values > valuesMax) throw tooManyValues(values, 0, valuesMax);
  return parseLogFilter({ ...filter, blockHash: null });
}

/** @param filter `{ transactionHashes }`, as in geth */
function parseHashes(filter: unknown): ReadonlySet<string> {
  const hashes = (filter as { readonly transactionHashes?: unknown } | null | undefined)?.transactionHashes ?? [];
  const isValid = Array.isArray(hashes) && hashes.every(isHash);
  if (typeof filter === 'boolean' || !isValid || hashes.length > MAX_HASHES)
    throw new RpcError(
      'invalid-params',
      `invalid params: filter: expected transactionHashes with at most ${MAX_HASHES} hashes`,
    );
  return new Set(hashes.map((hash) => hash.toLowerCase()));
}

/** geth's error text (rpc/errors.go, `subscriptionNotFoundError`). */
function noSuchSubscription(kind: string): RpcError {
  return new RpcError('no-such-subscription', `no ${JSON.stringify(kind.slice(0, 100))} subscription in eth namespace`);
}

/** Number of subscriptions that it counts as. */
export function costOf(params: SubscriptionParams): number {
  return 1 + Math.floor(valuesOf(params) / VALUES_PER_SUBSCRIPTION);
}

/** Number of addresses, topics and hashes that it keeps. */
export function valuesOf(params: SubscriptionParams): number {
  if (params.kind === 'transactionReceipts') return params.hashes.size;
  return params.kind === 'logs' ? sizeOf(params.filter) : 0;
}

/** @param kept of the other filters and subscriptions of the key */
export function tooManyValues(values: number, kept: number, valuesMax: number): RpcError {
  return beyondBound(
    `the filter has ${values} addresses, topics and hashes, and open ones of this project id have ${kept}, ` +
      `of at most ${valuesMax}; ${Math.max(0, valuesMax - kept)} would fit`,
  );
}
