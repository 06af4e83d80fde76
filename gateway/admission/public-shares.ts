import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Holder } from '../memory/holder.ts';
import { Gate, type SlotOwner } from './gate.ts';
import { DEFAULT_CONCURRENCY, MAX_WAIT_MS, type CallerShare } from './key-share.ts';
import type { SlotLease, SlotLeases } from './slot-lease.ts';

/** Addresses with a share. One that is dropped while it has requests in flight gets a second one. */
const MAX_SHARES = 50_000;

interface AddressShare {
  readonly share: CallerShare;
  /** Of its requests in flight. */
  readonly lease: SlotLease | undefined;
}

/**
 * The shares of client addresses without a key, on one network. All together have the turns and slots of one key, so that
 * each key keeps its own; requests in flight and buffered bytes are divided among the addresses.
 */
export class PublicShares {
  readonly #name: string;
  readonly #all: SlotOwner & { weight: number } = { weight: 1 };
  readonly #requests: Gate;
  readonly #holderOf: (group: string) => Holder;
  readonly #leases: SlotLeases | undefined;
  readonly #shares = new LRUCache<string, AddressShare>({
    ...maxEntries(MAX_SHARES),
    dispose: ({ lease }) => lease?.close(),
  });
  #perAddress = DEFAULT_CONCURRENCY;

  /**
   * @param name of the account of all
   * @param holderOf the buffered bytes of an address
   * @param leases of the workers that serve the addresses together; undefined: this is the only one
   */
  constructor(name: string, holderOf: (group: string) => Holder, leases?: SlotLeases) {
    this.#name = name;
    this.#holderOf = holderOf;
    this.#leases = leases;
    this.#requests = new Gate({
      slots: leases === undefined ? DEFAULT_CONCURRENCY : 0,
      perOwner: DEFAULT_CONCURRENCY,
      queueMax: 2 * DEFAULT_CONCURRENCY,
      maxWaitMs: MAX_WAIT_MS,
      rejection: () =>
        new RpcError('too-many-requests', 'too many requests in flight without project id', {
          allowance: { limit: this.#perAddress, remaining: 0, resetS: 1 },
        }),
    });
    this.#requests.lease = leases?.open(name, DEFAULT_CONCURRENCY, this.#requests);
  }

  /** @param total requests in flight of all addresses  @param perAddress of each one */
  limitConcurrency(total: number, perAddress: number): void {
    this.#perAddress = perAddress;
    this.#all.weight = Math.max(1, total / DEFAULT_CONCURRENCY);
    this.#requests.perOwner = perAddress;
    const { lease: leaseOfAll } = this.#requests;
    if (leaseOfAll === undefined) this.#requests.size = total;
    else leaseOfAll.limit = total;
    for (const { lease } of this.#shares.values()) if (lease !== undefined) lease.limit = perAddress;
  }

  of(group: string): CallerShare {
    let found = this.#shares.get(group);
    if (found === undefined) this.#shares.set(group, (found = this.#open(group)));
    return found.share;
  }

  /** Returns the slots that other workers share, those in use as requests end. */
  close(): void {
    this.#shares.clear();
    this.#requests.lease?.close();
  }

  #open(group: string): AddressShare {
    const shared = { name: this.#name, group: this.#all, requests: this.#requests };
    const share = { ...shared, holder: this.#holderOf(group), weight: 1, keptValues: 0 };
    const leases = this.#leases;
    if (leases === undefined) return { share, lease: undefined };
    const name = `${this.#name}:${group}`;
    return { share, lease: this.#requests.leaseTo(share, (pool) => leases.open(name, this.#perAddress, pool)) };
  }
}
