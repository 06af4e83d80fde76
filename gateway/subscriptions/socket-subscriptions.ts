import { RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../keys/key-access.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import { costOf, readWish, type Wish } from './read-wish.ts';
import { Subscription } from './subscription.ts';

export interface SocketSubscriptionsParts {
  readonly subscriptions: NetworkSubscriptions;
  /** The key of the socket: with what it opens by now, and how many subscriptions its account has on all sockets. */
  readonly holder: { readonly access: KeyAccess; readonly open: { subscriptions: number } };
  /** Most subscriptions of a key; its rules may allow less. */
  readonly max: number;
  /** Sends each text as a message. */
  readonly send: (texts: readonly string[]) => void;
  readonly end: (reason: 'key-settings' | 'missed-blocks' | 'slow-reader') => void;
}

/** The subscriptions of one WebSocket of a caller. They end with it. */
export class SocketSubscriptions {
  readonly #parts: SocketSubscriptionsParts;
  readonly #open = new Map<string, Subscription>();
  /** Opened by messages that are not answered yet, by message. */
  readonly #unanswered = new Map<object, Subscription[]>();
  #access: KeyAccess;
  #isClosed = false;

  constructor(parts: SocketSubscriptionsParts) {
    this.#parts = parts;
    this.#access = parts.holder.access;
  }

  /**
   * `eth_subscribe` or `eth_unsubscribe`.
   * @param params as the schema lets them through
   * @param message whatever stands for the message that the call is of, until `answered` is told of it
   * @returns the result as JSON text
   * @throws RpcError (rejects with it)
   */
  async call(method: MethodSpec, params: readonly unknown[], message: object): Promise<string> {
    if (method.name === 'eth_subscribe') return JSON.stringify(await this.#subscribe(method, params, message));
    const subscription = this.#open.get(String(params[0]));
    if (subscription === undefined) throw new RpcError('subscription-not-found');
    this.#close(subscription);
    return 'true';
  }

  /** The answer to a message is sent: now its subscriptions may tell. */
  answered(message: object): void {
    const subscriptions = this.#unanswered.get(message);
    if (subscriptions === undefined) return;
    this.#unanswered.delete(message);
    for (const subscription of subscriptions) subscription.begin();
  }

  /** To be called now and then: what a key may not subscribe to any more it is not told either. */
  confirm(): void {
    const { holder, end } = this.#parts;
    if (holder.access === this.#access) return;
    this.#access = holder.access;
    const isForbidden = [...this.#open.values()].some(({ method, wish }) => !mayOpen(holder.access, method, wish));
    if (isForbidden) end('key-settings');
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#open.values()) this.#close(subscription);
  }

  async #subscribe(method: MethodSpec, params: readonly unknown[], message: object): Promise<string> {
    const { subscriptions, holder, max } = this.#parts;
    const wish = readWish(params);
    if (!mayOpen(holder.access, method, wish)) throw new RpcError('key-settings');
    const cost = costOf(wish);
    const most = Math.min(max, holder.access.limits?.subscriptions ?? Infinity);
    if (holder.open.subscriptions + cost > most) throw new RpcError('too-many-subscriptions');
    const subscription = new Subscription(this.#parts, method, wish);
    holder.open.subscriptions += cost;
    try {
      subscription.leave = await subscriptions.join(wish, subscription);
      // Its rules may have become stricter meanwhile.
      if (!mayOpen(holder.access, method, wish)) {
        subscription.leave();
        throw new RpcError('key-settings');
      }
    } catch (error) {
      holder.open.subscriptions -= cost;
      throw error;
    }
    this.#open.set(subscription.id, subscription);
    subscriptions.meters[wish.kind].opened();
    const others = this.#unanswered.get(message);
    if (others === undefined) this.#unanswered.set(message, [subscription]);
    else others.push(subscription);
    // The caller has left in the meantime.
    if (this.#isClosed) this.#close(subscription);
    return subscription.id;
  }

  #close(subscription: Subscription): void {
    this.#open.delete(subscription.id);
    subscription.leave();
    this.#parts.holder.open.subscriptions -= costOf(subscription.wish);
    this.#parts.subscriptions.meters[subscription.wish.kind].closed();
  }
}

/** Only logs are of contracts: a filter must name some, as in `eth_getLogs`. */
function mayOpen({ calls }: KeyAccess, method: MethodSpec, wish: Wish): boolean {
  if (calls === undefined) return true;
  const addresses = wish.kind === 'logs' ? [...(wish.filter.addresses ?? [])] : undefined;
  const mayName = addresses === undefined || calls.allowContract({ ...method, contractAt: { param: 0 } }, [addresses]);
  return mayName && calls.allowMethod(method);
}

/** What geth answers over HTTP (rpc/handler.go): nothing can be opened there, and so nothing is open. */
export function rejectionOverHttp({ name }: MethodSpec): RpcError {
  return new RpcError(name === 'eth_subscribe' ? 'no-notifications' : 'subscription-not-found');
}
