import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import { CallerAccount, DEFAULT_CONCURRENCY, openRequests, weightFor } from './caller-account.ts';
import type { SlotLeases } from './slot-lease.ts';

/** Twice the keys and tokens that are cached, so that the account of one that is in use is not dropped. */
const MAX_ACCOUNTS = 40_000;

/** Account of a key, of the keys that it was rotated to, of a team, or of the subject of tokens. */
export class KeyAccount extends CallerAccount {
  /** Concurrency of the keys that set one, by key. */
  readonly #limits = new Map<string, number>();

  /** @param leases of the workers or gateways that serve the account together; undefined: this is the only one */
  constructor(name: string, leases?: SlotLeases) {
    super(name, openRequests(`key:${name}`, leases, { hasOneOwner: true }));
  }

  /** The lowest limit of the account's keys holds for all of them. @param requests undefined: the key sets no limit */
  limitConcurrency(key: string, requests: number | undefined): void {
    if (requests === undefined) this.#limits.delete(key);
    else this.#limits.set(key, requests);
    const concurrency = this.#limits.size === 0 ? DEFAULT_CONCURRENCY : Math.min(...this.#limits.values());
    this.weight = weightFor(concurrency);
    this.requests.setLimit(concurrency, this.#limits.size > 0);
  }
}

/** Accounts of keys by name. The keys of an account, and a key whose record changes, have the same one. */
export class KeyAccounts {
  /** The account with the limit of a key, by key. */
  readonly #limited = new LRUCache<string, KeyAccount>(maxEntries(MAX_ACCOUNTS));
  readonly #accounts = new LRUCache<string, KeyAccount>({
    ...maxEntries(MAX_ACCOUNTS),
    dispose: ({ requests }) => requests.lease?.close(),
  });
  readonly #leases: SlotLeases | undefined;

  /** @param leases of the workers or gateways that serve each account together; undefined: this is the only one */
  constructor(leases?: SlotLeases) {
    this.#leases = leases;
  }

  /** @param concurrency requests in flight that the key permits its account; undefined: it sets no limit */
  of(name: string, key: string, concurrency: number | undefined): KeyAccount {
    let account = this.#accounts.get(name);
    if (account === undefined) this.#accounts.set(name, (account = new KeyAccount(name, this.#leases)));
    // Its record may have another team than before.
    if (concurrency === undefined || this.#limited.get(key) !== account) this.forget(key);
    if (concurrency === undefined) return account;
    this.#limited.set(key, account);
    account.limitConcurrency(key, concurrency);
    return account;
  }

  /** Renews the account of a cached key or token when it is used: the account is dropped after those of others. */
  renew(name: string, key: string): void {
    this.#accounts.get(name);
    this.#limited.get(key);
  }

  /** Removes the limit of a key that changes or is revoked, so that other keys of its team do not keep it. */
  forget(key: string | undefined): void {
    if (key === undefined) return;
    this.#limited.get(key)?.limitConcurrency(key, undefined);
    this.#limited.delete(key);
  }
}
