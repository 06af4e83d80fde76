import { RpcError } from '../jsonrpc/errors.ts';
import { parseLogFilter, sizeOf, type LogFilter } from './feeds/log-filter.ts';

/** What a caller wants to be told of. */
export type SubscriptionParams =
  | { readonly kind: 'newHeads' | 'syncing' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly isFull: boolean };

export type SubscriptionKind = SubscriptionParams['kind'];

export const subscriptionKinds: readonly SubscriptionKind[] = ['newHeads', 'logs', 'newPendingTransactions', 'syncing'];

/** So many addresses and topics make a filter count as one more subscription: they are kept as long. */
const VALUES_PER_SUBSCRIPTION = 100;

/**
 * What the schema cannot say: which second parameter goes with which first one. `newHeads` and `syncing` have none, and
 * what old clients give them is passed over.
 * @param params of `eth_subscribe`, as the schema lets them through
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

/** geth's words (rpc/errors.go, `subscriptionNotFoundError`). */
function noSuchSubscription(kind: string): RpcError {
  return new RpcError('no-such-subscription', `no ${JSON.stringify(kind.slice(0, 100))} subscription in eth namespace`);
}

/** How many subscriptions it counts for. */
export function costOf(params: SubscriptionParams): number {
  return params.kind === 'logs' ? 1 + Math.floor(sizeOf(params.filter) / VALUES_PER_SUBSCRIPTION) : 1;
}
