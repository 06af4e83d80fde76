import { LRUCache } from 'lru-cache';
import { KeyShare } from '../admission/key-share.ts';
import { maxEntries } from '../config/max-entries.ts';

/** Twice the keys that the authenticator caches, so that the share of a cached key is not dropped. */
const maxShares = 20_000;

/** The share of each account. Keys of one account, and a key whose record changes, have the same one. */
export class KeyShares {
  readonly #shares = new LRUCache<string, KeyShare>(maxEntries(maxShares));

  /** @param concurrency requests in flight that the key permits its account; undefined: it sets no limit */
  readonly of = (account: string, key: string, concurrency: number | undefined): KeyShare => {
    let share = this.#shares.get(account);
    if (share === undefined) this.#shares.set(account, (share = new KeyShare(account)));
    share.limitConcurrency(key, concurrency);
    return share;
  };
}
