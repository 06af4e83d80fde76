import { RpcError } from '../jsonrpc/errors.ts';
import { parseLogFilter, sizeOf, type LogFilter } from './feeds/log-filter.ts';

/** Parsed parameters of `eth_subscribe`. */
export type SubscriptionParams =
  | { readonly kind: 'newHeads' | 'syncing' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly isFull: boolean }
  /** Transaction hashes in lower case; empty: the receipts of all transactions. */
  | { readonly kind: 'transactionReceipts'; readonly hashes: ReadonlySet<string> };

export type SubscriptionKind = SubscriptionParams['kind'];

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
 * @throws RpcError invalid-params, no-such-subscription
 */
export function parseSubscriptionParams([kind, filter]: readonly unknown[]): SubscriptionParams {
  switch (kind as SubscriptionKind) {
    case 'logs':
      if (typeof filter === 'boolean')
        throw new RpcError('invalid-params', 'invalid params: filter: expected log filter');
      // As in geth, a block hash does not narrow a subscription, which has logs of new blocks.
      return { kind: 'logs', filter: parseLogFilter({ ...(filter as object | null | undefined), blockHash: null }) };
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

/** @param filter `{ transactionHashes }`, as in geth */
function parseHashes(filter: unknown): ReadonlySet<string> {
  const hashes = (filter as { readonly transactionHashes?: unknown } | null | undefined)?.transactionHashes ?? [];
  const isValid = Array.isArray(hashes) && hashes.every((hash) => /^0x[0-9a-f]{64}$/i.test(String(hash)));
  if (typeof filter === 'boolean' || !isValid || hashes.length > MAX_HASHES)
    throw new RpcError(
      'invalid-params',
      `invalid params: filter: expected transactionHashes with at most ${MAX_HASHES} hashes`,
    );
  return new Set(hashes.map((hash) => String(hash).toLowerCase()));
}

/** geth's error text (rpc/errors.go, `subscriptionNotFoundError`). */
function noSuchSubscription(kind: string): RpcError {
  return new RpcError('no-such-subscription', `no ${JSON.stringify(kind.slice(0, 100))} subscription in eth namespace`);
}

/** Number of subscriptions that it counts as. */
export function costOf(params: SubscriptionParams): number {
  if (params.kind === 'transactionReceipts') return 1 + Math.floor(params.hashes.size / VALUES_PER_SUBSCRIPTION);
  return params.kind === 'logs' ? 1 + Math.floor(sizeOf(params.filter) / VALUES_PER_SUBSCRIPTION) : 1;
}
