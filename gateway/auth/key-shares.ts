import { LRUCache } from 'lru-cache';
import { KeyShare } from '../admission/key-share.ts';
import type { SlotLeases } from '../admission/slot-lease.ts';
import { maxEntries } from '../config/max-entries.ts';

/** Twice the keys and tokens that are cached, so that the share of one that is in use is not dropped. */
const MAX_SHARES = 40_000;

/**
 * The share of each account, and which one the limit of a key is in. Keys of one account, and a key whose record changes,
 * have the same one.
 */
export class KeyShares {
  /** The share with the limit of a key, by key. */
  readonly #limited = new LRUCache<string, KeyShare>(maxEntries(MAX_SHARES));
  readonly #shares = new LRUCache<string, KeyShare>({
    ...maxEntries(MAX_SHARES),
    dispose: ({ requests }) => requests.lease?.close(),
  });
  readonly #leases: SlotLeases | undefined;

  /** @param leases of the workers that serve each account together; undefined: this is the only one */
  constructor(leases?: SlotLeases) {
    this.#leases = leases;
  }

  /** @param concurrency requests in flight that the key permits its account; undefined: it sets no limit */
  of(account: string, key: string, concurrency: number | undefined): KeyShare {
    let share = this.#shares.get(account);
    if (share === undefined) this.#shares.set(account, (share = new KeyShare(account, this.#leases)));
    // Its record may have another team than before.
    if (concurrency === undefined || this.#limited.get(key) !== share) this.forget(key);
    if (concurrency === undefined) return share;
    this.#limited.set(key, share);
    share.limitConcurrency(key, concurrency);
    return share;
  }

  /** To be called when a cached key or token is used: its share is dropped after those of others. */
  renew({ account, record }: { readonly account: string; readonly record: { readonly id: string } }): void {
    this.#shares.get(account);
    this.#limited.get(record.id);
  }

  /** Removes the limit of a key that changes or is revoked, so that other keys of its team do not keep it. */
  forget(key: string | undefined): void {
    if (key === undefined) return;
    this.#limited.get(key)?.limitConcurrency(key, undefined);
    this.#limited.delete(key);
  }
}
