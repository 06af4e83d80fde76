import { RpcError, type RejectionRule } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { SocketAction } from '../spec/handlers.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { OpenLimits } from '../limits/open-counts.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import {
  costOf,
  parseSubscriptionParams,
  verifiedLike,
  type LevelOf,
  type SubscriptionParams,
} from './subscription-params.ts';
import { keepValues, type KeptValuesOptions } from './kept-values.ts';
import { Subscription, type SubscriptionOptions } from './subscription.ts';

/** Counts the cost of the subscriptions that the account of a key has open. */
export interface OpenSubscriptions {
  /** Counts subscriptions that are about to open, as `OpenCounts.take`. */
  takeSubscriptions(cost: number, limits: OpenLimits): Promise<keyof OpenLimits | undefined>;
  returnSubscriptions(cost: number): void;
  /**
   * Closes the sockets of the account, after their calls in progress, where errors have Infura's form.
   * @param isOfAll whether the quota is that of all callers without a key
   */
  quotaUsedUp(isOfAll: boolean): void;
}

export interface SocketSubscriptionsOptions extends SubscriptionOptions {
  readonly subscriptions: NetworkSubscriptions;
  /** The socket's key: its current access, and the cost of its subscriptions on all sockets. */
  readonly keySessions: OpenSubscriptions & SubscriptionOptions['keySessions'];
  /** Limit of subscriptions of one key; its permissions may set a lower one. */
  readonly max: number;
  readonly kept: KeptValuesOptions;
}

/** Manages the subscriptions of one client WebSocket. They end when the socket closes. */
export class SocketSubscriptions {
  readonly #parts: SocketSubscriptionsOptions;
  readonly #open = new Map<string, Subscription>();
  /** Subscriptions whose id the client does not have yet, by the message that opened them. */
  readonly #unacknowledged = new Map<object, Subscription[]>();
  #access: KeyAccess;
  #isClosed = false;

  constructor(parts: SocketSubscriptionsOptions) {
    this.#parts = parts;
    this.#access = parts.keySessions.access;
  }

  /** Closes sockets, as `OpenSubscriptions.quotaUsedUp`. */
  quotaUsedUp(isOfAll: boolean): void {
    this.#parts.keySessions.quotaUsedUp(isOfAll);
  }

  /**
   * Executes the action of a subscription method.
   * @param params validated by the schema
   * @param message identifies the client's message; `startNotifications` gets the same object after the response
   * @param levelOf how far is proven what a subscription delivers, until it ends
   * @returns the result as JSON text
   * @throws RpcError (rejects with it)
   */
  async call(
    method: MethodSpec,
    action: SocketAction,
    params: readonly unknown[],
    message: object,
    levelOf: LevelOf,
  ): Promise<string> {
    if (action === 'subscribe') return JSON.stringify(await this.#subscribe(method, params, message, levelOf));
    const subscription = this.#open.get(String(params[0]));
    if (subscription === undefined) throw new RpcError('subscription-not-found');
    this.#close(subscription);
    return 'true';
  }

  /** Starts the notifications of the subscriptions that a message opened. Call it after the response is sent. */
  startNotifications(message: object): void {
    const subscriptions = this.#unacknowledged.get(message);
    if (subscriptions === undefined) return;
    this.#unacknowledged.delete(message);
    for (const subscription of subscriptions) subscription.startNotifications();
  }

  /** Closes the socket if the key's permissions no longer allow one of its subscriptions. Call it periodically. */
  recheckPermissions(): void {
    const { keySessions, end } = this.#parts;
    if (keySessions.access === this.#access) return;
    this.#access = keySessions.access;
    const isForbidden = [...this.#open.values()].some(
      ({ method, params }) => forbidding(keySessions.access, method, params) !== undefined,
    );
    if (isForbidden) end('key-settings');
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#open.values()) this.#close(subscription);
  }

  async #subscribe(method: MethodSpec, params: readonly unknown[], message: object, levelOf: LevelOf): Promise<string> {
    const { subscriptions, keySessions, max } = this.#parts;
    const { access } = keySessions;
    const subscriptionParams = parseSubscriptionParams(params, this.#parts.kept.valuesMax);
    const rule = forbidding(access, method, subscriptionParams);
    if (rule !== undefined) throw new RpcError('key-settings', undefined, { rule });
    const cost = costOf(subscriptionParams);
    const subscription = new Subscription(this.#parts, method, subscriptionParams);
    const shortOf = await keySessions.takeSubscriptions(cost, {
      own: access.limits?.subscriptions ?? max,
      all: access.publicCaller?.of.total.subscriptions ?? max,
    });
    if (shortOf === 'own') throw new RpcError('too-many-subscriptions');
    if (shortOf === 'all') throw new RpcError('too-many-subscriptions', 'too many subscriptions without project id');
    try {
      subscription.release = keepValues(subscriptionParams, access.account, this.#parts.kept);
      const level = levelOf(verifiedLike[subscriptionParams.kind]);
      subscription.unsubscribe = await subscriptions.subscribe(subscriptionParams, subscription, level);
      // The permissions may have changed while it was opened.
      const rule = forbidding(keySessions.access, method, subscriptionParams);
      if (rule !== undefined) {
        subscription.unsubscribe();
        throw new RpcError('key-settings', undefined, { rule });
      }
    } catch (error) {
      keySessions.returnSubscriptions(cost);
      subscription.release();
      subscription.isClosed = true;
      throw error;
    }
    this.#open.set(subscription.id, subscription);
    subscriptions.metrics[subscriptionParams.kind].opened();
    const others = this.#unacknowledged.get(message);
    if (others === undefined) this.#unacknowledged.set(message, [subscription]);
    else others.push(subscription);
    // The client disconnected in the meantime.
    if (this.#isClosed) this.#close(subscription);
    return subscription.id;
  }

  #close(subscription: Subscription): void {
    this.#open.delete(subscription.id);
    subscription.isClosed = true;
    subscription.unsubscribe();
    subscription.release();
    this.#parts.keySessions.returnSubscriptions(costOf(subscription.params));
    this.#parts.subscriptions.metrics[subscription.params.kind].closed();
  }
}

/**
 * The permission that forbids a subscription. A key with contract permissions may subscribe to logs only with addresses in
 * the filter, as with requests for logs.
 */
function forbidding({ calls }: KeyAccess, method: MethodSpec, params: SubscriptionParams): RejectionRule | undefined {
  if (calls === undefined) return undefined;
  const rule = calls.forbidMethod(method);
  if (rule !== undefined) return rule;
  if (params.kind !== 'logs') return calls.forbidParams(method, [params.kind]);
  const filter = { address: [...(params.filter.addresses ?? [])] };
  return calls.forbidParams({ ...method, contractAt: { param: 1, field: 'address' } }, [params.kind, filter]);
}

/** The error over HTTP, equal to geth's (rpc/handler.go): HTTP has no subscriptions. */
export function rejectionOverHttp(action: SocketAction): RpcError {
  return new RpcError(action === 'subscribe' ? 'no-notifications' : 'subscription-not-found');
}
