import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import { Account, MAX_ADDRESSES } from './account.ts';
import { CallerAccount, DEFAULT_CONCURRENCY, openRequests, weightFor } from './caller-account.ts';
import type { Gate } from './gate.ts';
import type { SlotLeases } from './slot-lease.ts';

export interface PublicAccountsParts {
  /** Leases of the workers that serve the addresses together; undefined: this is the only one. */
  readonly leases?: SlotLeases | undefined;
  /** Accounts of the addresses on all networks, with their bytes; undefined: bytes are not counted. */
  readonly memory?: { addressAccount(group: string): Account } | undefined;
}

/**
 * Accounts of client addresses without a key, on one network. All together have the turns and slots of one key, so that each key
 * keeps its own; requests in flight are divided among the addresses. Buffered bytes count for the address on all networks.
 */
export class PublicAccounts {
  readonly #all: Account;
  readonly #requests: Gate;
  readonly #leases: SlotLeases | undefined;
  readonly #memory: PublicAccountsParts['memory'];
  readonly #accounts = new LRUCache<string, CallerAccount>({
    ...maxEntries(MAX_ADDRESSES),
    dispose: (account) => this.#requests.leaseOf(account)?.close(),
  });
  #perAddress = DEFAULT_CONCURRENCY;

  /** @param name of the account of all */
  constructor(name: string, { leases, memory }: PublicAccountsParts = {}) {
    this.#all = new Account(name);
    this.#leases = leases;
    this.#memory = memory;
    const message = 'too many requests in flight without project id';
    this.#requests = openRequests(name, leases, { perOwner: DEFAULT_CONCURRENCY }, message);
  }

  /** @param total requests in flight of all addresses  @param perAddress of each one */
  limitConcurrency(total: number, perAddress: number): void {
    this.#perAddress = perAddress;
    this.#all.weight = weightFor(total);
    this.#requests.perOwner = perAddress;
    this.#requests.setLimit(total);
    for (const account of this.#accounts.values()) {
      this.#requests.leaseOf(account)?.setLimit(perAddress);
    }
  }

  /** @param group the address, or the network of one customer */
  of(group: string): CallerAccount {
    let account = this.#accounts.get(group);
    if (account === undefined) this.#accounts.set(group, (account = this.#open(group)));
    return account;
  }

  /** Returns the slots that other workers share, those in use as requests end. */
  close(): void {
    this.#accounts.clear();
    this.#requests.lease?.close();
  }

  #open(group: string): CallerAccount {
    const name = `${this.#all.name}:${group}`;
    const address = this.#memory?.addressAccount(group) ?? this.#all;
    const account = new CallerAccount(name, this.#requests, address, this.#all);
    if (this.#leases !== undefined) this.#requests.leaseTo(account, this.#leases, this.#perAddress);
    return account;
  }
}
