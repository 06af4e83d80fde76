import { RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import { costOf, parseSubscriptionParams, type SubscriptionParams } from './subscription-params.ts';
import { Subscription } from './subscription.ts';

export interface SocketSubscriptionsOptions {
  readonly subscriptions: NetworkSubscriptions;
  /** The key of the socket: with what it opens by now, and how many subscriptions its account has on all sockets. */
  readonly keySessions: { readonly access: KeyAccess; readonly open: { subscriptions: number } };
  /** Most subscriptions of a key; its rules may allow less. */
  readonly max: number;
  /** Sends each text as a message. */
  readonly send: (texts: readonly string[]) => void;
  readonly end: (reason: 'key-settings' | 'missed-blocks' | 'slow-reader') => void;
}

/** The subscriptions of one WebSocket of a caller. They end with it. */
export class SocketSubscriptions {
  readonly #parts: SocketSubscriptionsOptions;
  readonly #open = new Map<string, Subscription>();
  /** Opened by messages that are not answered yet, by message. */
  readonly #unacknowledged = new Map<object, Subscription[]>();
  #access: KeyAccess;
  #isClosed = false;

  constructor(parts: SocketSubscriptionsOptions) {
    this.#parts = parts;
    this.#access = parts.keySessions.access;
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
  startNotifications(message: object): void {
    const subscriptions = this.#unacknowledged.get(message);
    if (subscriptions === undefined) return;
    this.#unacknowledged.delete(message);
    for (const subscription of subscriptions) subscription.startNotifications();
  }

  /** To be called now and then: what a key may not subscribe to any more it is not told either. */
  recheckPermissions(): void {
    const { keySessions, end } = this.#parts;
    if (keySessions.access === this.#access) return;
    this.#access = keySessions.access;
    const isForbidden = [...this.#open.values()].some(
      ({ method, params: subscriptionParams }) => !isAllowed(keySessions.access, method, subscriptionParams),
    );
    if (isForbidden) end('key-settings');
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#open.values()) this.#close(subscription);
  }

  async #subscribe(method: MethodSpec, params: readonly unknown[], message: object): Promise<string> {
    const { subscriptions, keySessions, max } = this.#parts;
    const subscriptionParams = parseSubscriptionParams(params);
    if (!isAllowed(keySessions.access, method, subscriptionParams)) throw new RpcError('key-settings');
    const cost = costOf(subscriptionParams);
    const maxForKey = Math.min(max, keySessions.access.limits?.subscriptions ?? Infinity);
    if (keySessions.open.subscriptions + cost > maxForKey) throw new RpcError('too-many-subscriptions');
    const subscription = new Subscription(this.#parts, method, subscriptionParams);
    keySessions.open.subscriptions += cost;
    try {
      subscription.unsubscribe = await subscriptions.subscribe(subscriptionParams, subscription);
      // Its rules may have become stricter meanwhile.
      if (!isAllowed(keySessions.access, method, subscriptionParams)) {
        subscription.unsubscribe();
        throw new RpcError('key-settings');
      }
    } catch (error) {
      keySessions.open.subscriptions -= cost;
      throw error;
    }
    this.#open.set(subscription.id, subscription);
    subscriptions.metrics[subscriptionParams.kind].opened();
    const others = this.#unacknowledged.get(message);
    if (others === undefined) this.#unacknowledged.set(message, [subscription]);
    else others.push(subscription);
    // The caller has left in the meantime.
    if (this.#isClosed) this.#close(subscription);
    return subscription.id;
  }

  #close(subscription: Subscription): void {
    this.#open.delete(subscription.id);
    subscription.unsubscribe();
    this.#parts.keySessions.open.subscriptions -= costOf(subscription.params);
    this.#parts.subscriptions.metrics[subscription.params.kind].closed();
  }
}

/** Only logs are of contracts: a filter must name some, as in `eth_getLogs`. */
function isAllowed({ calls }: KeyAccess, method: MethodSpec, subscriptionParams: SubscriptionParams): boolean {
  if (calls === undefined) return true;
  const addresses = subscriptionParams.kind === 'logs' ? [...(subscriptionParams.filter.addresses ?? [])] : undefined;
  const canName = addresses === undefined || calls.allowContract({ ...method, contractAt: { param: 0 } }, [addresses]);
  return canName && calls.allowMethod(method);
}

/** What geth answers over HTTP (rpc/handler.go): nothing can be opened there, and so nothing is open. */
export function rejectionOverHttp({ name }: MethodSpec): RpcError {
  return new RpcError(name === 'eth_subscribe' ? 'no-notifications' : 'subscription-not-found');
}
