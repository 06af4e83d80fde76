import { RpcError } from '../jsonrpc/errors.ts';
import { readLogFilter, sizeOf, type LogFilter } from './log-filter.ts';

/** What a caller wants to be told of. */
export type Wish =
  | { readonly kind: 'newHeads' | 'syncing' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly isWhole: boolean };

export type Kind = Wish['kind'];

export const kinds: readonly Kind[] = ['newHeads', 'logs', 'newPendingTransactions', 'syncing'];

/** So many addresses and topics make a filter count as one more subscription: they are kept as long. */
const VALUES_EACH = 100;

/**
 * What the schema cannot say: which second parameter goes with which first one. `newHeads` and `syncing` have none, and
 * what old clients give them is passed over.
 * @param params of `eth_subscribe`, as the schema lets them through
 * @throws RpcError invalid-params, no-such-subscription
 */
export function readWish([kind, filter]: readonly unknown[]): Wish {
  switch (kind as Kind) {
    case 'logs':
      if (typeof filter === 'boolean')
        throw new RpcError('invalid-params', 'invalid params: filter: expected log filter');
      return { kind: 'logs', filter: readLogFilter(filter ?? {}) };
    case 'newPendingTransactions':
      if (typeof filter === 'object' && filter !== null)
        throw new RpcError('invalid-params', 'invalid params: filter: expected boolean');
      return { kind: 'newPendingTransactions', isWhole: filter === true };
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
export function costOf(wish: Wish): number {
  return wish.kind === 'logs' ? 1 + Math.floor(sizeOf(wish.filter) / VALUES_EACH) : 1;
}
