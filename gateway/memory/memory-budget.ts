import { RpcError } from '../jsonrpc/errors.ts';

/** Each holder may use this part of the budget while others use the rest. */
const SHARE_PARTS = 8;
/** This part of the budget is for every holder, in the order of arrival. The remaining part is for the shares. */
const COMMON_PARTS = 2;
/** All client addresses together may use this part of the budget, before authentication. */
const ADDRESSES_PARTS = 4;
/** No account's name starts with it. */
const ADDRESS_PREFIX = 'address ';
/** Entries after which those of holders without bytes are removed. */
const MIN_SWEEP_SIZE = 10_000;

/** A part of the budget, or all of it. */
interface Pool {
  readonly maxBytes: number;
  bytes: number;
}

interface Holder {
  readonly isAddress: boolean;
  bytes: number;
}

/** @param group the address, or the network of one customer: `addressGroup` of auth/formats */
export function addressHolder(group: string): string {
  return ADDRESS_PREFIX + group;
}

/**
 * Accounts all bytes that the process buffers for callers and upstreams, on every transport. A holder is the account of
 * a key, or a client address before authentication. Half of the budget is for all holders together. Of the other half
 * each holder gets bytes only up to its share, an eighth of the budget, so that none can use it alone. All addresses
 * together are one holder, which never gets more than a quarter; this is divided among them in the same way.
 */
export class MemoryBudget {
  /** Rejections and closed connections by reason, for the metrics. */
  readonly counts = { budget: 0, share: 0, requests: 0, connection: 0 };
  readonly #whole: Pool;
  readonly #addresses: Pool;
  readonly #requestsMax: number;
  #requests = 0;
  readonly #holders = new Map<string, Holder>();
  #sweepSize = MIN_SWEEP_SIZE;

  constructor({ requestsMax, maxBytes }: { requestsMax: number; maxBytes: number }) {
    this.#requestsMax = requestsMax;
    this.#whole = { maxBytes, bytes: 0 };
    this.#addresses = { maxBytes: maxBytes / ADDRESSES_PARTS, bytes: 0 };
  }

  /** Bytes taken now. */
  get bytes(): number {
    return this.#whole.bytes;
  }

  /** @throws RpcError overloaded or memory-share; then nothing is taken */
  take(holder: string, bytes: number): void {
    const own = this.#holderOf(holder);
    const reason = this.#problem(own, bytes);
    if (reason !== undefined) throw this.#rejection(reason);
    this.#add(own, bytes);
  }

  canTake(holder: string, bytes: number): boolean {
    return this.#problem(this.#holderOf(holder), bytes) === undefined;
  }

  /** Takes bytes that exist already and cannot be rejected any more, even above the bounds. */
  takeAnyway(holder: string, bytes: number): void {
    this.#add(this.#holderOf(holder), bytes);
  }

  release(holder: string, bytes: number): void {
    this.#add(this.#holderOf(holder), -bytes);
  }

  /** Takes bytes of the gateway's own requests, such as polls. They are few, and never rejected. */
  takeOwn(bytes: number): void {
    this.#whole.bytes += bytes;
  }

  releaseOwn(bytes: number): void {
    this.#whole.bytes -= bytes;
  }

  /** Whether the holder has more than its share, and the half for everyone has less left than a share. */
  isExhaustedFor(holder: string): boolean {
    const own = this.#holders.get(holder);
    if (own === undefined) return false;
    if (!own.isAddress) return isExhausted(this.#whole, own.bytes);
    return isExhausted(this.#addresses, own.bytes) || isExhausted(this.#whole, this.#addresses.bytes);
  }

  /** @throws RpcError overloaded; then nothing is counted */
  beginRequest(): void {
    if (this.#requests >= this.#requestsMax) throw this.#rejection('requests');
    this.#requests++;
  }

  endRequest(): void {
    this.#requests--;
  }

  #add(own: Holder, bytes: number): void {
    own.bytes += bytes;
    if (own.isAddress) this.#addresses.bytes += bytes;
    this.#whole.bytes += bytes;
  }

  #problem(own: Holder, bytes: number): 'budget' | 'share' | undefined {
    if (!own.isAddress) return problemIn(this.#whole, own.bytes, bytes);
    return problemIn(this.#addresses, own.bytes, bytes) ?? problemIn(this.#whole, this.#addresses.bytes, bytes);
  }

  #rejection(reason: 'budget' | 'share' | 'requests'): RpcError {
    this.counts[reason]++;
    return new RpcError(reason === 'share' ? 'memory-share' : 'overloaded');
  }

  #holderOf(holder: string): Holder {
    const own = this.#holders.get(holder);
    if (own !== undefined) return own;
    if (this.#holders.size >= this.#sweepSize) this.#sweep();
    const added = { isAddress: holder.startsWith(ADDRESS_PREFIX), bytes: 0 };
    this.#holders.set(holder, added);
    return added;
  }

  /** The next sweep comes only after as many new entries as this one left, so that its cost per entry is constant. */
  #sweep(): void {
    for (const [holder, { bytes }] of this.#holders) if (bytes === 0) this.#holders.delete(holder);
    this.#sweepSize = Math.max(MIN_SWEEP_SIZE, 2 * this.#holders.size);
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
