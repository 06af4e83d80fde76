import { LRUCache } from 'lru-cache';
import { Account, gatehouse, MAX_ADDRESSES } from '../admission/account.ts';
import { maxEntries } from '../config/max-entries.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { areBoundsCounted } from './counted-bounds.ts';
import type { MemoryGuard } from './memory-guard.ts';

/** Each account may use this part of the budget while others use the rest. */
const SHARE_PARTS = 8;
/** Part of the budget for every account, in the order of arrival. The remaining part is for the shares. */
const COMMON_PARTS = 2;
/** Part of the budget for all client addresses together: before authentication, and without a key on every network. */
const ADDRESSES_PARTS = 4;

export interface MemoryBudgetOptions {
  readonly requestsMax: number;
  readonly maxBytes: number;
  readonly guard?: MemoryGuard;
}

/**
 * Counts all bytes that the process buffers for callers and upstreams, on every transport. Half of the budget is for all accounts
 * together. Of the other half each account gets bytes only up to its share, an eighth of the budget, so that none can use it
 * alone. All client addresses together never get more than a quarter; this is divided among them in the same way. The few
 * requests of Gatehouse itself, such as polls, are never rejected.
 */
export class MemoryBudget {
  /** Rejections and closed connections by reason, for the metrics. */
  readonly counts = { budget: 0, share: 0, requests: 0, connection: 0 };
  readonly guard: MemoryGuard | undefined;
  readonly #maxBytes: number;
  readonly #addresses = new Account('address');
  readonly #byAddress = new LRUCache<string, Account>(maxEntries(MAX_ADDRESSES));
  readonly #requestsMax: number;
  #bytes = 0;
  #requests = 0;

  /** @param guard undefined: the real memory of the process is not compared with its limit */
  constructor({ requestsMax, maxBytes, guard }: MemoryBudgetOptions) {
    this.#maxBytes = areBoundsCounted ? maxBytes : Infinity;
    this.#requestsMax = areBoundsCounted ? requestsMax : Infinity;
    this.guard = guard;
  }

  /** Bytes taken now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Account of an address, which its accounts at networks are members of. @param group the address, or the network of a customer */
  addressAccount(group: string): Account {
    let account = this.#byAddress.get(group);
    if (account === undefined) {
      account = new Account(`${this.#addresses.name} ${group}`, this.#addresses);
      this.#byAddress.set(group, account);
    }
    return account;
  }

  /**
   * @param isInProgress memory-pressure does not reject the bytes
   * @throws RpcError memory-pressure, overloaded or memory-share; then nothing is taken
   */
  take(account: Account, bytes: number, isInProgress = false): void {
    const { guard } = this;
    if (guard !== undefined && account !== gatehouse) {
      if (!isInProgress && guard.state !== 'normal' && !guard.canTake(account)) throw new RpcError('memory-pressure');
      guard.weigh(account, bytes);
    }
    // All but addresses may take bytes of the half for all accounts.
    if (this.#bytes + bytes > this.#maxBytes / COMMON_PARTS || account.parent !== undefined) {
      const reason = this.#problem(account, bytes);
      if (reason !== undefined) throw this.#rejection(reason);
    }
    this.#count(account, bytes);
  }

  canTake(account: Account, bytes: number): boolean {
    return this.guard?.canTake(account) !== false && this.#problem(account, bytes) === undefined;
  }

  /** Adds bytes that exist already and cannot be rejected any more, even above the bounds. @param bytes negative: released */
  add(account: Account, bytes: number): void {
    this.#count(account, bytes);
    if (bytes > 0 && account !== gatehouse) this.guard?.weigh(account, bytes);
  }

  /** Whether the account has more than its share, and the half for everyone has less left than a share. */
  isExhaustedFor(account: Account): boolean {
    const { bytes, parent } = account.memoryOwner;
    if (parent === undefined) return isExhausted(this.#maxBytes, this.#bytes, bytes);
    const maxBytes = this.#maxBytes / ADDRESSES_PARTS;
    return isExhausted(maxBytes, parent.bytes, bytes) || isExhausted(this.#maxBytes, this.#bytes, parent.bytes);
  }

  /** @throws RpcError overloaded; then nothing is counted */
  beginRequest(): void {
    if (this.#requests >= this.#requestsMax) throw this.#rejection('requests');
    this.#requests++;
  }

  endRequest(): void {
    this.#requests--;
  }

  #count(account: Account, bytes: number): void {
    this.#bytes += bytes;
    for (let at: Account | undefined = account; at !== undefined; at = at.parent) at.bytes += bytes;
  }

  #problem(account: Account, bytes: number): 'budget' | 'share' | undefined {
    if (account === gatehouse) return undefined;
    const { bytes: ownBytes, parent } = account.memoryOwner;
    if (parent === undefined) return problemIn(this.#maxBytes, this.#bytes, ownBytes, bytes);
    return (
      problemIn(this.#maxBytes / ADDRESSES_PARTS, parent.bytes, ownBytes, bytes) ??
      problemIn(this.#maxBytes, this.#bytes, parent.bytes, bytes)
    );
  }

  #rejection(reason: 'budget' | 'share' | 'requests'): RpcError {
    this.counts[reason]++;
    return new RpcError(reason === 'share' ? 'memory-share' : 'overloaded');
  }
}

/** @param taken bytes of all accounts that share `maxBytes`  @param ownBytes of one of them */
function problemIn(maxBytes: number, taken: number, ownBytes: number, bytes: number): 'budget' | 'share' | undefined {
  const total = taken + bytes;
  if (total > maxBytes) return 'budget';
  if (total <= maxBytes / COMMON_PARTS) return undefined;
  return ownBytes + bytes > maxBytes / SHARE_PARTS ? 'share' : undefined;
}

function isExhausted(maxBytes: number, taken: number, ownBytes: number): boolean {
  const share = maxBytes / SHARE_PARTS;
  return ownBytes > share && taken + share > maxBytes / COMMON_PARTS;
}
