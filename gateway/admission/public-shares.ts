import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Holder } from '../memory/holder.ts';
import { Gate, type SlotOwner } from './gate.ts';
import { DEFAULT_CONCURRENCY, MAX_WAIT_MS, type CallerShare } from './key-share.ts';

/** Addresses with a share. One that is dropped while it has requests in flight gets a second one. */
const MAX_SHARES = 50_000;

/**
 * The shares of client addresses without a key, on one network. All together have the turns and slots of one key, so that
 * each key keeps its own; requests in flight and buffered bytes are divided among the addresses.
 */
export class PublicShares {
  readonly #name: string;
  readonly #all: SlotOwner & { weight: number } = { weight: 1 };
  readonly #requests: Gate;
  readonly #holderOf: (group: string) => Holder;
  readonly #shares = new LRUCache<string, CallerShare>(maxEntries(MAX_SHARES));
  #perAddress = DEFAULT_CONCURRENCY;

  /** @param name of the account of all  @param holderOf the buffered bytes of an address */
  constructor(name: string, holderOf: (group: string) => Holder) {
    this.#name = name;
    this.#holderOf = holderOf;
    this.#requests = new Gate({
      slots: DEFAULT_CONCURRENCY,
      perOwner: DEFAULT_CONCURRENCY,
      queueMax: 2 * DEFAULT_CONCURRENCY,
      maxWaitMs: MAX_WAIT_MS,
      rejection: () =>
        new RpcError('too-many-requests', 'too many requests in flight without project id', {
          allowance: { limit: this.#perAddress, remaining: 0, resetS: 1 },
        }),
    });
  }

  /** @param total requests in flight of all addresses  @param perAddress of each one */
  limitConcurrency(total: number, perAddress: number): void {
    this.#perAddress = perAddress;
    this.#all.weight = Math.max(1, total / DEFAULT_CONCURRENCY);
    this.#requests.size = total;
    this.#requests.perOwner = perAddress;
  }

  of(group: string): CallerShare {
    let share = this.#shares.get(group);
    if (share === undefined) {
      const shared = { name: this.#name, group: this.#all, requests: this.#requests };
      share = { ...shared, holder: this.#holderOf(group), weight: 1, keptValues: 0 };
      this.#shares.set(group, share);
    }
    return share;
  }
}
