import { RpcError, type Allowance } from '../jsonrpc/errors.ts';
import type { Holder } from '../memory/holder.ts';
import { Gate, type SlotOwner } from './gate.ts';
import type { SlotLeases } from './slot-lease.ts';

/** Requests in flight of a key without `--concurrency`. */
export const DEFAULT_CONCURRENCY = 256;

/** Beyond the concurrency, a request waits this long before it is rejected. */
export const MAX_WAIT_MS = 1_000;

/** What a caller uses of this gateway, with those that count with it. */
export interface CallerShare extends SlotOwner {
  readonly name: string;
  readonly holder: Holder;
  /** Addresses, topics and hashes of its open filters and subscriptions. */
  keptValues: number;
  /** Requests in flight: HTTP requests from their head on, WebSocket messages, and further calls of a batch. */
  readonly requests: Gate;
}

/**
 * What the keys of one account use of this gateway together: their requests in flight, their buffered bytes, and their
 * slots at networks and upstreams. A key with four times the default concurrency gets four times the slots of others.
 */
export class KeyShare implements CallerShare {
  readonly name: string;
  readonly holder: Holder;
  weight = 1;
  keptValues = 0;
  #concurrency = DEFAULT_CONCURRENCY;
  /** Of the keys that set one. */
  readonly #limits = new Map<string, number>();
  readonly requests: Gate;

  /** @param leases of the workers that serve the account together; undefined: this is the only one */
  constructor(account: string, leases?: SlotLeases) {
    this.name = account;
    this.holder = { name: account, isAddress: false, bytes: 0 };
    this.requests = new Gate({
      slots: leases === undefined ? DEFAULT_CONCURRENCY : 0,
      hasOneOwner: true,
      queueMax: 2 * DEFAULT_CONCURRENCY,
      maxWaitMs: MAX_WAIT_MS,
      rejection: () => new RpcError('too-many-requests', undefined, { allowance: this.#allowance() }),
    });
    this.requests.lease = leases?.open(`key:${account}`, DEFAULT_CONCURRENCY, this.requests);
  }

  /** The lowest limit of the account's keys holds for all of them. @param requests undefined: the key sets no limit */
  limitConcurrency(key: string, requests: number | undefined): void {
    if (requests === undefined) this.#limits.delete(key);
    else this.#limits.set(key, requests);
    this.#concurrency = this.#limits.size === 0 ? DEFAULT_CONCURRENCY : Math.min(...this.#limits.values());
    this.weight = Math.max(1, this.#concurrency / DEFAULT_CONCURRENCY);
    const { lease } = this.requests;
    if (lease === undefined) this.requests.size = this.#concurrency;
    else lease.limit = this.#concurrency;
  }

  /** Of a rejected request: all are in flight, and one may have ended when the client tries again. */
  #allowance(): Allowance {
    return { limit: this.#concurrency, remaining: 0, resetS: 1 };
  }
}
