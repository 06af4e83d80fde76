import type { CachedResponse } from '../cache/response-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import { Reservation } from '../memory/reservation.ts';
import type { FilterAction, FilterKind } from '../spec/handlers.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { jsonResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Unsubscribe } from './feeds/subscriber.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import type { FilterPeers, FilterRequest, FoundFilter } from './filter-peers.ts';
import { countValues, parseLogFilter, type FilterParams } from '../chain/logs/log-filter.ts';
import { keepValues, type KeptValuesOptions } from './kept-values.ts';
import { PolledFilter } from './polled-filter.ts';
import { costOf, verifiedLike, type LevelOf, type SubscriptionParams } from './subscription-params.ts';

export interface NetworkFiltersOptions {
  readonly subscriptions: Pick<NetworkSubscriptions, 'subscribe' | 'deliveryOf'>;
  /** The method that requests logs. */
  readonly logs: MethodSpec;
  /** Accounts filters and what they buffer. */
  readonly kept: KeptValuesOptions;
  /** Filters of the other workers; undefined: the gateway has one worker. */
  readonly peers?: FilterPeers | undefined;
}

/** The caller of a filter method. A key finds only its own filters. */
export interface FilterCaller {
  readonly access: KeyAccess;
  /** Requests logs as a caller does, with the same checks. @throws RpcError */
  readonly requestLogs: (filter: unknown) => Promise<UpstreamResponse | CachedResponse>;
  /** How far is proven what a filter returns, until it ends. */
  readonly levelOf: LevelOf;
}

/**
 * Limit on the summed cost (`costOf`) of one key's filters in a network, in each worker. A filter takes up to about 50 kB. Above
 * the limit, the least recently polled filters are removed.
 */
const MAX_COST_PER_KEY = 500;
/** Memory of a filter, besides its addresses and topics and what it buffers. */
const FILTER_BYTES = 2_000;
/** Addresses and topics in one filter, as they are sent: more than geth accepts. */
const MAX_VALUES_PER_FILTER = 1_999;

/**
 * Holds the filters of one network that callers poll. Each filter is a subscription with a buffer in the gateway. No filter
 * exists at an upstream, so an upstream failure leaves no gap.
 */
export class NetworkFilters {
  readonly #parts: NetworkFiltersOptions;
  readonly #byKey = new Map<string, Map<string, PolledFilter>>();

  constructor(parts: NetworkFiltersOptions) {
    this.#parts = parts;
  }

  /**
   * Executes the action of a filter method.
   * @param params validated by the schema
   * @throws RpcError (rejects with it)
   */
  async handle(
    action: FilterAction,
    params: readonly unknown[],
    { access, requestLogs, levelOf }: FilterCaller,
  ): Promise<UpstreamResponse | CachedResponse> {
    const id = String(params[0]);
    switch (action) {
      case 'remove':
        return { kind: 'result', result: (await this.#request('remove', id, access)) !== undefined };
      case 'changes': {
        const { results = '[]' } = await this.#find('take', id, access);
        return jsonResponse(results);
      }
      case 'logs': {
        const { filterParams: given } = await this.#find('find', id, access);
        // geth returns the same error for filters of other kinds (eth/filters/api.go, GetFilterLogs).
        if (given === undefined) throw new RpcError('filter-not-found');
        return requestLogs(given);
      }
      default:
        return { kind: 'result', result: await this.#openFilter(action.open, params[0], access, levelOf) };
    }
  }

  /** Serves a request for a filter of this worker. Undefined: there is no such filter of the key. */
  async serve({ keyId, id, action }: Omit<FilterRequest, 'network'>): Promise<FoundFilter | undefined> {
    const filter = this.#used(keyId, id);
    if (filter === undefined) return undefined;
    const { filterParams } = filter;
    if (action === 'remove') this.#removeFilter(keyId, id);
    return action === 'take' ? { filterParams, results: await this.#takeFrom(filter) } : { filterParams };
  }

  /** Whether the filter, if it exists, is in another worker, so that its parameters are not known here. */
  isElsewhere(id: string): boolean {
    return this.#parts.peers?.has(id) === true;
  }

  /** The parameters of a log filter, as for a request for logs; undefined if the key has no such filter. */
  logFilterOf(id: string, access: KeyAccess): unknown {
    return this.#byKey.get(ownerOf(access))?.get(id.toLowerCase())?.filterParams;
  }

  /** Removes the filters of an account. */
  removeThoseOf(account: string): void {
    for (const [keyId, filters] of this.#byKey) {
      for (const filter of filters.values()) if (filter.account === account) this.#removeFilter(keyId, filter.id);
    }
  }

  async #openFilter(kind: FilterKind, param: unknown, access: KeyAccess, levelOf: LevelOf): Promise<string> {
    const { account } = access;
    const keyId = ownerOf(access);
    const params = kind === 'logs' ? ((param ?? {}) as FilterParams) : undefined;
    const subscription = subscriptionParamsOf(kind, param, params);
    this.#removeOldest(keyId, MAX_COST_PER_KEY - costOf(subscription));
    const release = keepValues(subscription, account, this.#parts.kept, FILTER_BYTES);
    const remove = (): boolean => this.#removeFilter(keyId, filter.id);
    const { memory: budget } = this.#parts.kept;
    const memory = budget && new Reservation(budget, account);
    const filter = new PolledFilter(params ?? {}, subscription, memory, remove, this.#parts.peers?.worker);
    filter.owner = account.payer.name;
    filter.account = account.memoryOwner.name;
    filter.level = levelOf(verifiedLike[kind]);
    filter.release = release;
    const filters = this.#byKey.get(keyId) ?? new Map<string, PolledFilter>();
    this.#byKey.set(keyId, filters.set(filter.id, filter));
    let unsubscribe: Unsubscribe;
    try {
      unsubscribe = await this.#parts.subscriptions.subscribe(filter.subscription, filter, filter.level);
    } catch (error) {
      this.#removeFilter(keyId, filter.id);
      throw error;
    }
    filter.unsubscribe = unsubscribe;
    // The filter was removed while it subscribed, for example because of a gap.
    if (filters.get(filter.id) !== filter) unsubscribe();
    return filter.id;
  }

  /** Removes the least recently polled filters of a key until the others cost at most this. */
  #removeOldest(keyId: string, maxCost: number): void {
    const filters = this.#byKey.get(keyId) ?? new Map<string, PolledFilter>();
    let cost = 0;
    for (const { subscription } of filters.values()) cost += costOf(subscription);
    for (const [id, oldest] of filters) {
      if (cost <= maxCost) break;
      cost -= costOf(oldest.subscription);
      this.#removeFilter(keyId, id);
    }
  }

  async #takeFrom(filter: PolledFilter): Promise<string> {
    const { subscription, owner, level } = filter;
    const delivery = this.#parts.subscriptions.deliveryOf(subscription.kind, owner, level);
    return `[${(await filter.takeResults(delivery)).join()}]`;
  }

  /** @throws RpcError (rejects with it) */
  async #find(action: 'find' | 'take', id: string, access: KeyAccess): Promise<FoundFilter> {
    // Results that were taken cannot be given back.
    if (action === 'take' && access.calls !== undefined) await this.#find('find', id, access);
    const found = await this.#request(action, id, access);
    if (found === undefined) throw new RpcError('filter-not-found');
    this.#checkParams(found.filterParams, access);
    return found;
  }

  /** Sends a request to the worker of the filter. */
  #request(action: FilterRequest['action'], id: string, access: KeyAccess): Promise<FoundFilter | undefined> {
    const request = { keyId: ownerOf(access), id, action };
    const { peers } = this.#parts;
    return peers?.has(id) === true ? peers.request(request) : this.serve(request);
  }

  /** The key's permissions may have changed since the filter was created. @throws RpcError */
  #checkParams(params: FilterParams | undefined, { calls }: KeyAccess): void {
    const rule = params === undefined ? undefined : calls?.forbidParams(this.#parts.logs, [params]);
    if (rule !== undefined) throw new RpcError('key-settings', undefined, { rule });
  }

  /** A filter of the key, which is now the one that was polled last. */
  #used(keyId: string, id: string): PolledFilter | undefined {
    const filters = this.#byKey.get(keyId);
    const filter = filters?.get(id.toLowerCase());
    if (filters === undefined || filter === undefined) return undefined;
    filters.delete(filter.id);
    filters.set(filter.id, filter);
    return filter;
  }

  /** @returns whether there was such a filter */
  #removeFilter(keyId: string, id: string): boolean {
    const filters = this.#byKey.get(keyId);
    const filter = filters?.get(id.toLowerCase());
    if (filters === undefined || filter === undefined) return false;
    filter.close();
    filters.delete(filter.id);
    if (filters.size === 0) this.#byKey.delete(keyId);
    return true;
  }
}

/** Owner of a filter, who alone finds it: the key, or without one the address. */
function ownerOf({ record, account, publicCaller }: KeyAccess): string {
  return publicCaller === undefined ? record.id : account.name;
}

/** @param params of a log filter  @throws RpcError invalid-params */
function subscriptionParamsOf(kind: FilterKind, param: unknown, params: FilterParams = {}): SubscriptionParams {
  if (kind === 'newHeads') return { kind };
  if (kind === 'newPendingTransactions') return { kind, isFull: param === true };
  const values = countValues(params);
  if (values <= MAX_VALUES_PER_FILTER) return { kind, filter: parseLogFilter(params) };
  throw new RpcError(
    'invalid-params',
    `invalid params: filter: expected at most ${MAX_VALUES_PER_FILTER} addresses and topics: it has ${values}`,
  );
}
