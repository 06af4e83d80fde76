import { isBelowServed, isOld } from '../routing-policy/candidate.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { ServedBlock } from '../heads/agreed-head.ts';
import {
  blocksNamedBy,
  hashNamedBy,
  type HeadPositions,
  type NamedBlocks,
  type Tag,
} from '../upstreams/available-blocks.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import { headIn, newestLogIn } from './block-in-response.ts';
import { NewestTagged } from './newest-tagged.ts';
import { ServedHashes } from './served-hashes.ts';

/** The polled heads, which are also updated with the blocks that callers are served. */
export type ServedHeads<U> = HeadPositions<U> & {
  recordServed(upstream: U, block: ServedBlock, now: number, isLatest?: boolean, sentAt?: number): void;
};

/** The parts of a call that name its blocks. */
export interface ReadCall {
  readonly method: MethodSpec;
  readonly params: readonly unknown[];
  readonly blocks: NamedBlocks | undefined;
  /** The number in place of the tag `safe` or `finalized`. */
  readonly pinned: { readonly number: bigint } | undefined;
  /** When the upstream was asked, by performance.now(). */
  readonly sentAt: number;
}

/** Reads the block in a response, or the block that contains its object. A function of `cache/`. */
export type BlockIn = (response: UpstreamResponse) => ServedBlock | undefined;

/** Types of results that name their block. */
const typesWithBlock: ReadonlySet<string | undefined> = new Set(['Block', 'Transaction', 'Receipt']);

/**
 * Keeps reads of one network monotonic: callers are not served an older `latest`, `safe` or `finalized` block than before
 * while an upstream has a newer one. `latest` decreases with the newest served block (`NewestServedBlock`), `safe` and
 * `finalized` when the head falls below them.
 */
export class MonotonicReads<U extends object> {
  readonly #heads: ServedHeads<U>;
  readonly #blockIn: BlockIn;
  readonly #tags = { safe: new NewestTagged<U>(), finalized: new NewestTagged<U>() };
  readonly #hashes = new ServedHashes();

  constructor(heads: ServedHeads<U>, blockIn: BlockIn) {
    this.#heads = heads;
    this.#blockIn = blockIn;
  }

  /** The number of the newest served block. */
  get newest(): bigint {
    return this.#heads.newestServed.number;
  }

  /** The network's head, or the newest served block if that is higher; 0: neither is known. */
  get newestKnown(): bigint {
    const { newest } = this;
    const { number = 0n } = this.#heads;
    return number > newest ? number : newest;
  }

  /** Whether the upstream recently returned an older block for the tag than one that was served. */
  isTagOlder(upstream: U, tag: Tag | undefined, now: number): boolean {
    return tag !== undefined && tag !== 'latest' && this.#tags[tag].isBehind(upstream, now);
  }

  /** Whether the upstream is behind the network's head, or behind the newest served block. */
  isLagging(upstream: U): boolean {
    if (this.#heads.lagOf(upstream) > 0) return true;
    const polled = this.#heads.headOf(upstream);
    return isBelowServed(polled && Number(polled.number), Number(this.newest));
  }

  /** Whether the upstream lags, or did when it was asked: what it returned then is no evidence. */
  hasLagged(upstream: U, sentAt: number): boolean {
    return this.isLagging(upstream) || this.#heads.hasAdvancedSince(upstream, sentAt);
  }

  /** Records the block in a response that is served to a caller. */
  recordServed(
    upstream: U,
    { method, params, blocks, pinned, sentAt }: ReadCall,
    response: UpstreamResponse,
    now: number,
  ): void {
    const isHead = method.resultIs === 'head-number';
    const isLogs = method.resultIs === 'logs';
    // State at a block shows that the upstream has it.
    if (blocks?.readsState === true && blocks.highest > Number(this.newest) && response.kind !== 'error')
      this.#heads.recordServed(upstream, { number: BigInt(blocks.highest) }, now);
    if (!isHead && !isLogs && !typesWithBlock.has(method.shape?.type)) return;
    // The number of the pending block is not yet that of a block.
    if (params[0] === 'pending' || response.kind === 'error') return;
    const block = isHead ? headIn(response) : isLogs ? newestLogIn(response) : this.#blockIn(response);
    if (block === undefined) return;
    const tag = blocks?.tag;
    if (tag !== undefined && tag !== 'latest' && pinned === undefined)
      this.#tags[tag].record(upstream, block.number, now);
    this.#heads.recordServed(upstream, block, now, isHead || (tag === 'latest' && !isLogs), sentAt);
    if (method.looksUpHash === true) this.#hashes.add(params[0], block.hash, now);
    if (method.shape?.type === 'Block' && response.kind === 'result')
      this.#recordBlock(response.result, block.hash, now);
  }

  #recordBlock(block: unknown, blockHash: string | undefined, now: number): void {
    const { hash, transactions } = block as { readonly hash?: unknown; readonly transactions?: unknown };
    this.#hashes.add(hash, blockHash, now);
    if (!Array.isArray(transactions)) return;
    for (const transaction of transactions as readonly unknown[])
      this.#hashes.add(
        typeof transaction === 'object' && transaction !== null && 'hash' in transaction
          ? transaction.hash
          : transaction,
        blockHash,
        now,
      );
  }

  /** Whether the response to a call for a tag is older than the newest served block of that tag. */
  isOlder({ method, params, blocks, pinned }: ReadCall, response: UpstreamResponse): boolean {
    const tag = blocks?.tag;
    if (tag === undefined || method.shape?.type !== 'Block' || params[0] === 'pending') return false;
    const number = this.#blockIn(response)?.number;
    if (number === undefined) return false;
    return (
      number < (tag === 'latest' ? this.newest : (pinned?.number ?? this.#tags[tag].numberUpTo(this.#heads.number)))
    );
  }

  /**
   * The number of the newest served block of the call's tag, if the response is older. A node that lags has this block, but
   * not yet the tag. Undefined for `latest`.
   */
  newerFor({ pinned, blocks }: ReadCall): bigint | undefined {
    const tag = blocks?.tag;
    if (tag === undefined || tag === 'latest' || pinned !== undefined) return undefined;
    const number = this.#tags[tag].numberUpTo(this.#heads.number);
    return number < 0n ? undefined : number;
  }

  /** Selects the response with the newer block. @param one a response that needs confirmation: too old, or null */
  selectNewer(one: UpstreamResponse, other: UpstreamResponse): UpstreamResponse {
    const number = this.#blockIn(one)?.number;
    if (number === undefined) return other;
    return (this.#blockIn(other)?.number ?? -1n) > number ? other : one;
  }

  /** Raises the number of the head in a response to the newest served block, if that is higher. */
  raiseToServed({ resultIs }: MethodSpec, response: UpstreamResponse): UpstreamResponse {
    if (resultIs !== 'head-number') return response;
    const { newest } = this;
    const number = headIn(response)?.number;
    return number === undefined || number >= newest ? response : { kind: 'result', result: `0x${newest.toString(16)}` };
  }

  /** Whether callers were served the block or transaction of the call, so that null would be wrong. */
  hasServed({ method, params, blocks = blocksNamedBy(method, params) }: ReadCall): boolean {
    const [hash, index] = params;
    // The block may have no object at this index, as is usual for uncles.
    if (typeof index === 'string' || method.nullWhenUnsupported === true) return false;
    if (this.#blockOfServed(method, hash) !== undefined) return true;
    if (!isBlockLookup(method)) return false;
    if (blocks !== undefined) return blocks.highest >= 0 && blocks.highest <= Number(this.newest);
    return typeof hash === 'string' && this.#heads.has(hash);
  }

  /** Whether callers were served the block or transaction of the call, and its block is one of the newest blocks now. */
  hasServedCanonical({ method, params: [hash, index] }: ReadCall): boolean {
    if (typeof index === 'string' || method.nullWhenUnsupported === true) return false;
    const blockHash = this.#blockOfServed(method, hash);
    return blockHash !== undefined && this.#heads.has(blockHash);
  }

  /**
   * @param hash of a block or transaction
   * @returns the hash of its block, if callers were served one of the two, and it is of the kind that the method looks up
   */
  #blockOfServed(method: MethodSpec, hash: unknown): string | undefined {
    if (typeof hash !== 'string' || hash.length !== 66) return undefined;
    const blockHash = this.#hashes.blockOf(hash, performance.now());
    return (blockHash === hash) === looksUpTransaction(method) ? undefined : blockHash;
  }

  /**
   * Whether a block of the call is known, by its number, by its hash or by that of a served transaction, and new: every upstream
   * will have it soon. Older ones may be missing for ever.
   */
  isKnownNewBlock(call: ReadCall): boolean {
    const { newestKnown } = this;
    const { method, params, blocks = blocksNamedBy(method, params) } = call;
    if (blocks !== undefined)
      return blocks.highest <= Number(newestKnown) && !isOld(blocks.highest, Number(newestKnown));
    const hash = hashNamedBy(method, params);
    if (hash === undefined) return false;
    return (this.#heads.has(hash) && !looksUpTransaction(method)) || this.hasServedCanonical(call);
  }
}

/** Whether the hash in the call is that of a transaction. Other lookups by hash name a block. */
function looksUpTransaction({ tracks }: MethodSpec): boolean {
  return tracks?.of === 'transaction';
}

/** Whether null means that the block does not exist. */
function isBlockLookup({ resultIs, shape }: MethodSpec): boolean {
  return shape?.type === 'Block' || resultIs === 'block-objects';
}
