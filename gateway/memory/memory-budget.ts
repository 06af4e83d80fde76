import { RpcError } from '../jsonrpc/errors.ts';
import { areBoundsCounted } from './counted-bounds.ts';
import { AddressHolder, AddressPool, type Holder } from './holder.ts';
import type { MemoryGuard } from './memory-guard.ts';

/** Each holder may use this part of the budget while others use the rest. */
const SHARE_PARTS = 8;
/** Part of the budget for every holder, in the order of arrival. The remaining part is for the shares. */
const COMMON_PARTS = 2;
/** All client addresses before authentication may use this part of the budget together, and so may all without a key. */
const ADDRESSES_PARTS = 4;

/** A part of the budget, or all of it. */
interface Pool {
  readonly maxBytes: number;
  bytes: number;
}

export interface MemoryBudgetOptions {
  readonly requestsMax: number;
  readonly maxBytes: number;
  readonly guard?: MemoryGuard;
}

/**
 * Accounts all bytes that the process buffers for callers and upstreams, on every transport. Half of the budget is for all
 * holders together. Of the other half each holder gets bytes only up to its share, an eighth of the budget, so that none
 * can use it alone. All addresses together are one holder, which never gets more than a quarter; this is divided among
 * them in the same way. Callers without a key are another such holder. The holder `undefined` is Gatehouse itself: its requests,
 * such as polls, are few and never rejected.
 */
export class MemoryBudget {
  /** Rejections and closed connections by reason, for the metrics. */
  readonly counts = { budget: 0, share: 0, requests: 0, connection: 0 };
  readonly guard: MemoryGuard | undefined;
  readonly #whole: Pool;
  readonly #commonBytes: number;
  readonly #addresses: AddressPool;
  readonly #publicAddresses: AddressPool;
  readonly #requestsMax: number;
  #requests = 0;

  /** @param guard undefined: the real memory of the process is not compared with its limit */
  constructor({ requestsMax, maxBytes: givenBytes, guard }: MemoryBudgetOptions) {
    const maxBytes = areBoundsCounted ? givenBytes : Infinity;
    this.#requestsMax = areBoundsCounted ? requestsMax : Infinity;
    this.guard = guard;
    this.#whole = { maxBytes, bytes: 0 };
    this.#commonBytes = maxBytes / COMMON_PARTS;
    this.#addresses = new AddressPool('address', maxBytes / ADDRESSES_PARTS);
    this.#publicAddresses = new AddressPool('public', maxBytes / ADDRESSES_PARTS);
  }

  /** Bytes taken now. */
  get bytes(): number {
    return this.#whole.bytes;
  }

  /** @param group the address, or the network of one customer: `addressGroup` of auth/formats */
  addressHolder(group: string): Holder {
    return new AddressHolder(group, this.#addresses);
  }

  /** A caller without a key. @param group its share of the limits */
  publicHolder(group: string): Holder {
    return new AddressHolder(group, this.#publicAddresses);
  }

  /**
   * @param isInProgress memory-pressure does not reject the bytes
   * @throws RpcError memory-pressure, overloaded or memory-share; then nothing is taken
   */
  take(holder: Holder | undefined, bytes: number, isInProgress = false): void {
    const { guard } = this;
    if (holder !== undefined && guard !== undefined) {
      if (!isInProgress && guard.state !== 'normal' && !guard.canTake(holder)) throw new RpcError('memory-pressure');
      guard.weigh(holder, bytes);
    }
    // All but addresses may take bytes of the half for all holders.
    if (this.#whole.bytes + bytes > this.#commonBytes || holder?.pool !== undefined) {
      const reason = this.#problem(holder, bytes);
      if (reason !== undefined) throw this.#rejection(reason);
    }
    // As in `add`. Calls pass here four times.
    this.#whole.bytes += bytes;
    if (holder === undefined) return;
    holder.bytes += bytes;
    if (holder.pool !== undefined) holder.pool.bytes += bytes;
  }

  canTake(holder: Holder | undefined, bytes: number): boolean {
    if (holder !== undefined && this.guard?.canTake(holder) === false) return false;
    return this.#problem(holder, bytes) === undefined;
  }

  /** Adds bytes that exist already and cannot be rejected any more, even above the bounds. @param bytes negative: released */
  add(holder: Holder | undefined, bytes: number): void {
    this.#whole.bytes += bytes;
    if (holder === undefined) return;
    holder.bytes += bytes;
    if (bytes > 0) this.guard?.weigh(holder, bytes);
    if (holder.pool !== undefined) holder.pool.bytes += bytes;
  }

  /** Whether the holder has more than its share, and the half for everyone has less left than a share. */
  isExhaustedFor(holder: Holder): boolean {
    const { pool } = holder;
    if (pool === undefined) return isExhausted(this.#whole, holder.bytes);
    return isExhausted(pool, holder.bytes) || isExhausted(this.#whole, pool.bytes);
  }

  /** @throws RpcError overloaded; then nothing is counted */
  beginRequest(): void {
    if (this.#requests >= this.#requestsMax) throw this.#rejection('requests');
    this.#requests++;
  }

  endRequest(): void {
    this.#requests--;
  }

  #problem(holder: Holder | undefined, bytes: number): 'budget' | 'share' | undefined {
    if (holder === undefined) return undefined;
    const { pool } = holder;
    if (pool === undefined) return problemIn(this.#whole, holder.bytes, bytes);
    return problemIn(pool, holder.bytes, bytes) ?? problemIn(this.#whole, pool.bytes, bytes);
  }

  #rejection(reason: 'budget' | 'share' | 'requests'): RpcError {
    this.counts[reason]++;
    return new RpcError(reason === 'share' ? 'memory-share' : 'overloaded');
  }
}

function problemIn({ maxBytes, bytes: taken }: Pool, ownBytes: number, bytes: number): 'budget' | 'share' | undefined {
  const total = taken + bytes;
  if (total > maxBytes) return 'budget';
  if (total <= maxBytes / COMMON_PARTS) return undefined;
  return ownBytes + bytes > maxBytes / SHARE_PARTS ? 'share' : undefined;
}

function isExhausted({ maxBytes, bytes }: Pool, ownBytes: number): boolean {
  const share = maxBytes / SHARE_PARTS;
  return ownBytes > share && bytes + share > maxBytes / COMMON_PARTS;
}
