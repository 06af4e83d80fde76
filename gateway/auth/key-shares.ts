import { LRUCache } from 'lru-cache';
import { KeyShare } from '../admission/key-share.ts';
import { maxEntries } from '../config/max-entries.ts';

/** Twice the keys that the authenticator caches, so that the share of a cached key is not dropped. */
const MAX_SHARES = 20_000;

/**
 * The share of each account, and which one the limit of a key is in. Keys of one account, and a key whose record changes,
 * have the same one.
 */
export class KeyShares {
  /** The share with the limit of a key, by key. */
  readonly #limited = new LRUCache<string, KeyShare>(maxEntries(MAX_SHARES));
  readonly #shares = new LRUCache<string, KeyShare>(maxEntries(MAX_SHARES));

  /** @param concurrency requests in flight that the key permits its account; undefined: it sets no limit */
  readonly of = (account: string, key: string, concurrency: number | undefined): KeyShare => {
    let share = this.#shares.get(account);
    if (share === undefined) this.#shares.set(account, (share = new KeyShare(account)));
    // Its record may have another team than before.
    if (concurrency === undefined || this.#limited.get(key) !== share) this.forget(key);
    if (concurrency === undefined) return share;
    this.#limited.set(key, share);
    share.limitConcurrency(key, concurrency);
    return share;
  };

  /** Removes the limit of a key that changes or is revoked, so that other keys of its team do not keep it. */
  forget(key: string | undefined): void {
    if (key === undefined) return;
    this.#limited.get(key)?.limitConcurrency(key, undefined);
    this.#limited.delete(key);
  }
}
