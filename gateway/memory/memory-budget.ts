import { RpcError } from '../jsonrpc/errors.ts';

/** Each holder may use this part of the budget while others use the rest. */
const SHARE_PARTS = 8;
/** This part of the budget is for every holder, in the order of arrival. The remaining part is for the shares. */
const COMMON_PARTS = 2;
/** Entries after which those of holders without bytes are removed. */
const MIN_SWEEP_SIZE = 10_000;

/**
 * Accounts all bytes that the process buffers for callers and upstreams, on every transport. A holder is the account of
 * a key, or a client address before authentication. Half of the budget is for all holders together. Of the other half
 * each holder gets bytes only up to its share, an eighth of the budget, so that none can use it alone.
 */
export class MemoryBudget {
  /** Rejections and closed connections by reason, for the metrics. */
  readonly counts = { budget: 0, share: 0, requests: 0, connection: 0 };
  readonly #maxBytes: number;
  readonly #requestsMax: number;
  #bytes = 0;
  #requests = 0;
  readonly #holders = new Map<string, { bytes: number }>();
  #sweepSize = MIN_SWEEP_SIZE;

  constructor({ requestsMax, maxBytes }: { requestsMax: number; maxBytes: number }) {
    this.#requestsMax = requestsMax;
    this.#maxBytes = maxBytes;
  }

  /** Bytes taken now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws RpcError overloaded or memory-share; then nothing is taken */
  take(holder: string, bytes: number): void {
    const own = this.#holderOf(holder);
    const reason = this.#problem(own.bytes, bytes);
    if (reason !== undefined) throw this.#rejection(reason);
    own.bytes += bytes;
    this.#bytes += bytes;
  }

  canTake(holder: string, bytes: number): boolean {
    return this.#problem(this.#holderOf(holder).bytes, bytes) === undefined;
  }

  /** Takes bytes that exist already and cannot be rejected any more, even above the bounds. */
  takeAnyway(holder: string, bytes: number): void {
    this.#holderOf(holder).bytes += bytes;
    this.#bytes += bytes;
  }

  release(holder: string, bytes: number): void {
    this.#holderOf(holder).bytes -= bytes;
    this.#bytes -= bytes;
  }

  /** Takes bytes of the gateway's own requests, such as polls. They are few, and never rejected. */
  takeOwn(bytes: number): void {
    this.#bytes += bytes;
  }

  releaseOwn(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** Whether the holder has more than its share, and the half for everyone has less left than a share. */
  isExhaustedFor(holder: string): boolean {
    const share = this.#maxBytes / SHARE_PARTS;
    const ownBytes = this.#holders.get(holder)?.bytes ?? 0;
    return ownBytes > share && this.#bytes + share > this.#maxBytes / COMMON_PARTS;
  }

  /** @throws RpcError overloaded; then nothing is counted */
  beginRequest(): void {
    if (this.#requests >= this.#requestsMax) throw this.#rejection('requests');
    this.#requests++;
  }

  endRequest(): void {
    this.#requests--;
  }

  #problem(ownBytes: number, bytes: number): 'budget' | 'share' | undefined {
    const total = this.#bytes + bytes;
    if (total > this.#maxBytes) return 'budget';
    if (total <= this.#maxBytes / COMMON_PARTS) return undefined;
    return ownBytes + bytes > this.#maxBytes / SHARE_PARTS ? 'share' : undefined;
  }

  #rejection(reason: 'budget' | 'share' | 'requests'): RpcError {
    this.counts[reason]++;
    return new RpcError(reason === 'share' ? 'memory-share' : 'overloaded');
  }

  #holderOf(holder: string): { bytes: number } {
    const own = this.#holders.get(holder);
    if (own !== undefined) return own;
    if (this.#holders.size >= this.#sweepSize) this.#sweep();
    const added = { bytes: 0 };
    this.#holders.set(holder, added);
    return added;
  }

  /** The next sweep comes only after as many new entries as this one left, so that its cost per entry is constant. */
  #sweep(): void {
    for (const [holder, { bytes }] of this.#holders) if (bytes === 0) this.#holders.delete(holder);
    this.#sweepSize = Math.max(MIN_SWEEP_SIZE, 2 * this.#holders.size);
  }
}
