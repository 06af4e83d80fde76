import type { KeptReply } from '../cache/answer-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../keys/key-access.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { jsonReply, type Reply } from '../upstream/reply.ts';
import type { Leave } from './listener.ts';
import type { NetworkSubscriptions } from './network-subscriptions.ts';
import { readLogFilter } from './log-filter.ts';
import { PolledFilter } from './polled-filter.ts';
import { costOf, type Wish } from './read-wish.ts';

export interface NetworkFiltersParts {
  readonly subscriptions: Pick<NetworkSubscriptions, 'join'>;
  readonly logs: MethodSpec;
}

/** With what a key asks: only its own filters are found. */
export interface FilterCaller {
  readonly access: KeyAccess;
  /** Asks for logs as a call of `eth_getLogs` would, by the same rules. @throws RpcError */
  readonly askLogs: (filter: unknown) => Promise<Reply | KeptReply>;
}

/**
 * What one key's filters of a network may come to, as subscriptions do (`costOf`): some 50 kB each at the worst. Those that
 * were asked for longest ago go first.
 */
const COST_PER_KEY = 500;
/** Addresses and topics: more than geth takes in one filter, and little enough to keep. */
const COST_PER_FILTER = 20;

/**
 * Filters for callers who poll. They are subscriptions whose news wait: no upstream is asked to keep one, so that a
 * filter misses nothing when an upstream goes.
 */
export class NetworkFilters {
  readonly #parts: NetworkFiltersParts;
  readonly #byKey = new Map<string, Map<string, PolledFilter>>();

  constructor(parts: NetworkFiltersParts) {
    this.#parts = parts;
  }

  /**
   * A method of the spec with `answer: filters`.
   * @param params as the schema lets them through
   * @throws RpcError (rejects with it)
   */
  async ask(
    method: MethodSpec,
    params: readonly unknown[],
    { access, askLogs }: FilterCaller,
  ): Promise<Reply | KeptReply> {
    const id = String(params[0]);
    switch (method.name) {
      case 'eth_uninstallFilter':
        return { kind: 'result', result: this.#drop(access.record.id, id) };
      case 'eth_getFilterChanges':
        return jsonReply(`[${(await this.#find(id, access).take()).join()}]`);
      case 'eth_getFilterLogs': {
        const { given } = this.#find(id, access);
        // geth's answer for filters of another kind, too (eth/filters/api.go, GetFilterLogs).
        if (given === undefined) throw new RpcError('filter-not-found');
        return askLogs(given);
      }
      default:
        return { kind: 'result', result: await this.#open(method.name, params[0], access) };
    }
  }

  async #open(method: string, given: unknown, { record }: KeyAccess): Promise<string> {
    const wish = wishOf(method, given);
    if (costOf(wish) > COST_PER_FILTER) {
      throw new RpcError('invalid-params', 'invalid params: filter: too many addresses and topics in one filter');
    }
    const filter = new PolledFilter(given ?? {}, wish, () => this.#drop(record.id, filter.id));
    const filters = this.#byKey.get(record.id) ?? new Map<string, PolledFilter>();
    this.#byKey.set(record.id, filters.set(filter.id, filter));
    let cost = 0;
    for (const one of filters.values()) cost += costOf(one.wish);
    for (const [id, oldest] of filters) {
      if (cost <= COST_PER_KEY) break;
      cost -= costOf(oldest.wish);
      this.#drop(record.id, id);
    }
    let leave: Leave;
    try {
      leave = await this.#parts.subscriptions.join(filter.wish, filter);
    } catch (error) {
      this.#drop(record.id, filter.id);
      throw error;
    }
    filter.leave = leave;
    // Dropped in the meantime: it could not tell all.
    if (filters.get(filter.id) !== filter) leave();
    return filter.id;
  }

  /** @throws RpcError */
  #find(id: string, { record, calls }: KeyAccess): PolledFilter {
    const filters = this.#byKey.get(record.id);
    const filter = filters?.get(id.toLowerCase());
    if (filters === undefined || filter === undefined) throw new RpcError('filter-not-found');
    // The key's rules may have changed since.
    const names = filter.given === undefined ? undefined : [filter.given];
    if (names !== undefined && calls?.allowContract(this.#parts.logs, names) === false) {
      throw new RpcError('key-settings');
    }
    filters.delete(filter.id);
    filters.set(filter.id, filter);
    return filter;
  }

  /** @returns whether there was such a filter */
  #drop(keyId: string, id: string): boolean {
    const filters = this.#byKey.get(keyId);
    const filter = filters?.get(id.toLowerCase());
    if (filters === undefined || filter === undefined) return false;
    filter.end();
    filters.delete(filter.id);
    if (filters.size === 0) this.#byKey.delete(keyId);
    return true;
  }
}

function wishOf(method: string, given: unknown): Wish {
  if (method === 'eth_newBlockFilter') return { kind: 'newHeads' };
  if (method === 'eth_newPendingTransactionFilter') return { kind: 'newPendingTransactions', isWhole: given === true };
  return { kind: 'logs', filter: readLogFilter(given ?? {}) };
}
