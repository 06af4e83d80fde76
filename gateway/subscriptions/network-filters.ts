import type { CachedResponse } from '../cache/response-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { jsonResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Unsubscribe } from './feeds/subscriber.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import { parseLogFilter } from './feeds/log-filter.ts';
import { PolledFilter } from './polled-filter.ts';
import { costOf, type SubscriptionParams } from './subscription-params.ts';

export interface NetworkFiltersOptions {
  readonly subscriptions: Pick<NetworkSubscriptions, 'join'>;
  readonly logs: MethodSpec;
}

/** With what a key asks: only its own filters are found. */
export interface FilterCaller {
  readonly access: KeyAccess;
  /** Asks for logs as a call of `eth_getLogs` would, by the same rules. @throws RpcError */
  readonly requestLogs: (filter: unknown) => Promise<UpstreamResponse | CachedResponse>;
}

/**
 * What one key's filters of a network may come to, as subscriptions do (`costOf`): some 50 kB each at the worst. Those that
 * were asked for longest ago go first.
 */
const MAX_COST_PER_KEY = 500;
/** Addresses and topics: more than geth takes in one filter, and little enough to keep. */
const MAX_COST_PER_FILTER = 20;

/**
 * Filters for callers who poll. They are subscriptions whose news wait: no upstream is asked to keep one, so that a
 * filter misses nothing when an upstream goes.
 */
export class NetworkFilters {
  readonly #parts: NetworkFiltersOptions;
  readonly #byKey = new Map<string, Map<string, PolledFilter>>();

  constructor(parts: NetworkFiltersOptions) {
    this.#parts = parts;
  }

  /**
   * A method of the spec with `answer: filters`.
   * @param params as the schema lets them through
   * @throws RpcError (rejects with it)
   */
  async handle(
    method: MethodSpec,
    params: readonly unknown[],
    { access, requestLogs }: FilterCaller,
  ): Promise<UpstreamResponse | CachedResponse> {
    const id = String(params[0]);
    switch (method.name) {
      case 'eth_uninstallFilter':
        return { kind: 'result', result: this.#removeFilter(access.record.id, id) };
      case 'eth_getFilterChanges':
        return jsonResponse(`[${(await this.#findFilter(id, access).takeResults()).join()}]`);
      case 'eth_getFilterLogs': {
        const { filterParams: given } = this.#findFilter(id, access);
        // geth's answer for filters of another kind, too (eth/filters/api.go, GetFilterLogs).
        if (given === undefined) throw new RpcError('filter-not-found');
        return requestLogs(given);
      }
      default:
        return { kind: 'result', result: await this.#openFilter(method.name, params[0], access) };
    }
  }

  async #openFilter(method: string, given: unknown, { record }: KeyAccess): Promise<string> {
    const subscription = subscriptionParamsOf(method, given);
    if (costOf(subscription) > MAX_COST_PER_FILTER) {
      throw new RpcError('invalid-params', 'invalid params: filter: too many addresses and topics in one filter');
    }
    const filter = new PolledFilter(given ?? {}, subscription, () => this.#removeFilter(record.id, filter.id));
    const filters = this.#byKey.get(record.id) ?? new Map<string, PolledFilter>();
    this.#byKey.set(record.id, filters.set(filter.id, filter));
    let cost = 0;
    for (const one of filters.values()) cost += costOf(one.subscription);
    for (const [id, oldest] of filters) {
      if (cost <= MAX_COST_PER_KEY) break;
      cost -= costOf(oldest.subscription);
      this.#removeFilter(record.id, id);
    }
    let unsubscribe: Unsubscribe;
    try {
      unsubscribe = await this.#parts.subscriptions.subscribe(filter.subscription, filter);
    } catch (error) {
      this.#removeFilter(record.id, filter.id);
      throw error;
    }
    filter.unsubscribe = unsubscribe;
    // Dropped in the meantime: it could not tell all.
    if (filters.get(filter.id) !== filter) unsubscribe();
    return filter.id;
  }

  /** @throws RpcError */
  #findFilter(id: string, { record, calls }: KeyAccess): PolledFilter {
    const filters = this.#byKey.get(record.id);
    const filter = filters?.get(id.toLowerCase());
    if (filters === undefined || filter === undefined) throw new RpcError('filter-not-found');
    // The key's rules may have changed since.
    const logParams = filter.filterParams === undefined ? undefined : [filter.filterParams];
    if (logParams !== undefined && calls?.allowContract(this.#parts.logs, logParams) === false) {
      throw new RpcError('key-settings');
    }
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

function subscriptionParamsOf(method: string, given: unknown): SubscriptionParams {
  if (method === 'eth_newBlockFilter') return { kind: 'newHeads' };
  if (method === 'eth_newPendingTransactionFilter') return { kind: 'newPendingTransactions', isFull: given === true };
  return { kind: 'logs', filter: parseLogFilter(given ?? {}) };
}
