import { RpcError } from '../jsonrpc/errors.ts';
import { parseLogFilter, sizeOf, type LogFilter } from './feeds/log-filter.ts';

/** Parsed parameters of `eth_subscribe`. */
export type SubscriptionParams =
  | { readonly kind: 'newHeads' | 'syncing' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly isFull: boolean };

export type SubscriptionKind = SubscriptionParams['kind'];

export const subscriptionKinds: readonly SubscriptionKind[] = ['newHeads', 'logs', 'newPendingTransactions', 'syncing'];

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
      return { kind: 'logs', filter: parseLogFilter(filter ?? {}) };
    case 'newPendingTransactions':
      if (typeof filter === 'object' && filter !== null)
        throw new RpcError('invalid-params', 'invalid params: filter: expected boolean');
      return { kind: 'newPendingTransactions', isFull: filter === true };
    case 'newHeads':
    case 'syncing':
      return { kind: kind as 'newHeads' | 'syncing' };
    default:
      throw noSuchSubscription(String(kind));
  }
}

/** geth's error text (rpc/errors.go, `subscriptionNotFoundError`). */
function noSuchSubscription(kind: string): RpcError {
  return new RpcError('no-such-subscription', `no ${JSON.stringify(kind.slice(0, 100))} subscription in eth namespace`);
}

/** Number of subscriptions that it counts as. */
export function costOf(params: SubscriptionParams): number {
  return params.kind === 'logs' ? 1 + Math.floor(sizeOf(params.filter) / VALUES_PER_SUBSCRIPTION) : 1;
}
