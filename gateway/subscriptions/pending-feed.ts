import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Leave, Listener } from './listener.ts';

/** An upstream, as far as its pending transactions are asked for. */
export interface PendingSource {
  readonly health: { readonly isUp: boolean };
  /** @param params as JSON text  @throws where no result comes */
  resultOf(method: string, params: string): Promise<unknown>;
}

export interface PendingFeedParts {
  /** Best first. */
  readonly sources: readonly PendingSource[];
  /** Undefined: it is gone again. Never rejects. */
  readonly transactionOf: (hash: string) => Promise<unknown>;
}

const POLL_MS = 500;
/** Before the upstreams are asked again, none of which could tell. */
const RETRY_MS = 2_000;
/** Hashes that were told are known for so many more: another upstream hears of them again. */
const KNOWN_MAX = 100_000;
/** Transactions that are fetched at once for those who want them whole. */
const FETCHES_MAX = 50;

/** Where the next pending transactions are heard of: a filter that one upstream keeps for us. */
interface Filter {
  readonly source: PendingSource;
  /** As JSON text. */
  readonly params: string;
}

/**
 * Tells transactions that wait to be mined: the hashes, or the whole. One upstream is polled for all who listen, and
 * another when that one fails; each transaction is told once. Polled, since that works with every upstream; what is
 * sent to the network between two upstreams may go untold, as it does where one node is restarted.
 */
export class PendingFeed {
  readonly #parts: PendingFeedParts;
  readonly #ofHashes = new Set<Listener>();
  readonly #ofWhole = new Set<Listener>();
  readonly #known = new LRUCache<string, true>({ max: KNOWN_MAX });
  #opening: Promise<Filter> | undefined;
  #isFollowing = false;

  constructor(parts: PendingFeedParts) {
    this.#parts = parts;
  }

  /** @throws RpcError (rejects with it) where no upstream tells of pending transactions */
  async join(listener: Listener, isWhole: boolean): Promise<Leave> {
    if (!this.#isFollowing) {
      this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
      const filter = await this.#opening;
      if (!this.#isFollowing) void this.#follow(filter);
    }
    const listeners = isWhole ? this.#ofWhole : this.#ofHashes;
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  get #isWanted(): boolean {
    return this.#ofHashes.size + this.#ofWhole.size > 0;
  }

  /** Never rejects. */
  async #follow(first: Filter): Promise<void> {
    this.#isFollowing = true;
    // Whoever opened it joins in the same turn.
    await Promise.resolve();
    let filter: Filter | undefined = first;
    while (this.#isWanted) {
      await sleep(filter === undefined ? RETRY_MS : POLL_MS, undefined, { ref: false });
      const hashes: unknown = await filter?.source
        .resultOf('eth_getFilterChanges', filter.params)
        .catch(() => undefined);
      if (Array.isArray(hashes)) this.#tell(hashes.filter((hash) => typeof hash === 'string'));
      else filter = await this.#open(filter?.source).catch(() => undefined);
    }
    this.#isFollowing = false;
    await filter?.source.resultOf('eth_uninstallFilter', filter.params).catch(() => undefined);
  }

  /** @param failed the one that is asked last  @throws RpcError */
  async #open(failed?: PendingSource): Promise<Filter> {
    const { sources } = this.#parts;
    const rankOf = (source: PendingSource): number => (source === failed ? 2 : source.health.isUp ? 0 : 1);
    for (const source of sources.toSorted((one, other) => rankOf(one) - rankOf(other))) {
      const id = await source.resultOf('eth_newPendingTransactionFilter', '[]').catch(() => undefined);
      if (typeof id === 'string') return { source, params: JSON.stringify([id]) };
    }
    throw new RpcError('no-upstream', 'no upstream tells of pending transactions');
  }

  #tell(hashes: readonly string[]): void {
    const fresh = hashes.filter((hash) => !this.#known.has(hash));
    if (fresh.length === 0) return;
    for (const hash of fresh) this.#known.set(hash, true);
    const results = fresh.map((hash) => JSON.stringify(hash));
    for (const listener of this.#ofHashes) listener.tell(results);
    if (this.#ofWhole.size > 0) void this.#tellWhole(fresh);
  }

  /** Never rejects. */
  async #tellWhole(hashes: readonly string[]): Promise<void> {
    for (let from = 0; from < hashes.length; from += FETCHES_MAX) {
      const some = hashes.slice(from, from + FETCHES_MAX);
      const found = await Promise.all(some.map((hash) => this.#parts.transactionOf(hash)));
      const results = found.flatMap((transaction) => (transaction === undefined ? [] : [JSON.stringify(transaction)]));
      if (results.length > 0) for (const listener of this.#ofWhole) listener.tell(results);
    }
  }
}
