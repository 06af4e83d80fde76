import type { BranchMark } from './branch-marks.ts';
import { lagAt, lagOfNotified, lagOfPolled, maxLagOf } from './block-times.ts';
import { MAX_HEADERS } from './followed-chain.ts';
import type { Header, SeenHead } from './header.ts';
import type { Headers } from './header-ring.ts';
import { isNearHead, type Standing } from './select-head.ts';
import type { ServedHashes } from './served-hashes.ts';
import type { FinalTag, TaggedBlock } from './served-tags.ts';
import { isAlternating, type ViewedUpstream } from './upstream-blocks.ts';
import type { Witnesses } from './witness-tracker.ts';

/** Time after which an upstream with an older safe or finalized block may have the newer one. Those blocks are not polled. */
const OLDER_TAG_MS = 12_000;
/** An older gas limit is not used. Gas limits change by at most 1/1024 per block. */
const MAX_GAS_LIMIT_AGE_MS = 300_000;

/**
 * What is known of the blocks of one network at one moment: the only answer to "what is the newest block?". It never changes;
 * the next event has another view. The memory of served hashes grows meanwhile. Times are by clock.now().
 */
export class ChainView<U> {
  /**
   * Number that differs after each change by which earlier answers must not be reused: another head, a newer served block, and
   * each sign that blocks were replaced. Unique in the process: an entry of a closed network is not valid in one with the same
   * name.
   */
  declare readonly epoch: number;
  /** The epoch since which no block can have been replaced unnoticed. Each pause in polls, and each lower head, ends that. */
  declare readonly unbrokenSince: number;
  /** How often upstreams were marked as being on another branch, or for results that were disproved. */
  declare readonly marks: number;
  /** `uncertain`: the newest served block was of another branch than the followed one, since that last changed. */
  declare readonly branch: 'known' | 'uncertain';
  /** The number of the network's head, which callers may be served. Undefined until the network is used. */
  declare readonly number: bigint | undefined;
  /** The newest block that callers and subscribers were served; 0: none. */
  declare readonly newestServed: bigint;
  /** When the head was last polled, or notified of. */
  declare readonly seenAt: number;
  /** Time between blocks; undefined: not known. */
  declare readonly blockMs: number | undefined;
  /** The followed chain. Its head differs from `number` until that header is fetched. */
  declare readonly headers: Headers;
  /** The latest heads of the network, oldest first, with which those of upstreams are compared. */
  declare readonly pastHeads: readonly SeenHead[];
  /** The newest block with a usable gas limit. */
  declare readonly gasBlock: SeenHead | undefined;
  /**
   * Number and time since which groups of upstreams have different blocks from a number on, and none has a majority;
   * undefined: they have not.
   */
  declare readonly dispute: { readonly number: bigint; readonly at: number } | undefined;
  declare readonly witnesses: Witnesses;
  declare readonly tagged: Readonly<Record<FinalTag, TaggedBlock<U>>>;
  declare readonly served: ServedHashes;
  declare readonly upstreams: ReadonlyMap<U, ViewedUpstream>;

  constructor(state: ViewState<U>) {
    Object.assign(this, state);
  }

  /** The newest block of the followed chain. */
  get head(): Header | undefined {
    return this.headers.head;
  }

  /** The network's head, or the newest served block if that is higher; 0: neither is known. */
  get newestKnown(): bigint {
    const { number = 0n, newestServed } = this;
    return number > newestServed ? number : newestServed;
  }

  /** The lag in blocks above which an upstream is skipped. */
  get maxLag(): number {
    return maxLagOf(this.blockMs);
  }

  /** The header of one of the newest 512 blocks. There may be gaps while there is no watcher. */
  at(number: bigint): Header | undefined {
    return this.headers.at(number);
  }

  /** The hash of one of the newest blocks, if it is witnessed: it is the newest witnessed block, or an ancestor of it. */
  witnessedHash(number: bigint): string | undefined {
    const { needed, block } = this.witnesses;
    if (needed <= 1) return this.at(number)?.hash;
    if (block === undefined || number > block.number) return undefined;
    if (number === block.number) return block.hash;
    return this.has(block.hash) ? this.at(number)?.hash : undefined;
  }

  /** The number of the newest witnessed block. Undefined: too few groups have the newest blocks. */
  get witnessed(): bigint | undefined {
    const { number, maxLag } = this;
    const { needed, present, block } = this.witnesses;
    if (needed <= 1) return number;
    if (block === undefined || present < needed) return undefined;
    return number !== undefined && block.number + BigInt(maxLag) < number ? undefined : block.number;
  }

  /** The block in place of `latest` where results are proven if possible: the head, if no witnessed block is near it. */
  get newestProvable(): bigint | undefined {
    const { number, witnesses, blockMs } = this;
    const { hold, block, needed } = witnesses;
    if (hold !== 'no' || needed <= 1 || number === undefined || block === undefined || block.number > number)
      return number;
    return isNearHead(block.number, number, blockMs) ? block.number : number;
  }

  /** Whether a block with this number may be one of the followed chain. */
  mayFollow(number: bigint): boolean {
    return number + BigInt(MAX_HEADERS) > this.newestKnown;
  }

  /** Whether `at` has the block with this hash. */
  has(hash: string): boolean {
    return this.headers.has(hash);
  }

  /** The number of the block with this hash, if `at` has it. */
  numberOf(hash: string): bigint | undefined {
    return this.headers.numberOf(hash);
  }

  /**
   * @param hash of a block or transaction
   * @returns the hash of its block, if callers were served one of the two in the last 60 s: for a block, its own
   */
  servedBlockOf(hash: string, now: number): string | undefined {
    return this.served.blockOf(hash, now);
  }

  /** The newest block that callers were served for the tag; -1: none of this chain. */
  newestOf(tag: FinalTag): bigint {
    const { number } = this.tagged[tag];
    return this.number !== undefined && number > this.number ? -1n : number;
  }

  /** Whether the upstream recently returned an older block for the tag than one that was served. */
  isTagOlder(upstream: U, tag: FinalTag, now: number): boolean {
    const { olderAt } = this.tagged[tag];
    return olderAt.size > 0 && now - (olderAt.get(upstream) ?? -Infinity) < OLDER_TAG_MS;
  }

  /** The gas limit of the newest block that has a usable one. 0: no block has one. Undefined: not known or too old. */
  gasLimit(now: number): bigint | undefined {
    const block = this.gasBlock;
    return block !== undefined && now - block.at < MAX_GAS_LIMIT_AGE_MS ? block.gasLimit : undefined;
  }

  /** The newest known block of an upstream; undefined: not known. */
  headOf(upstream: U): SeenHead | undefined {
    return this.upstreams.get(upstream)?.head;
  }

  /** Whether the blocks of an upstream are those of the network, as far as is known. */
  standingOf(upstream: U): Standing {
    return this.upstreams.get(upstream)?.standing ?? asFollowed;
  }

  /** Why the upstream is marked as being on another branch; undefined: it is not. */
  markOf(upstream: U): BranchMark | undefined {
    return this.upstreams.get(upstream)?.mark;
  }

  /** Blocks by which an upstream is behind: at its last poll, or now if it sends notifications. 0: its head is not known. */
  lagOf(upstream: U, now: number): number {
    const { pastHeads } = this;
    const known = this.upstreams.get(upstream);
    if (known?.head === undefined) return 0;
    return known.isSubscribed
      ? lagOfNotified(pastHeads, known.head, now)
      : lagOfPolled(pastHeads, known.head, this.blockMs);
  }

  /** Whether the network's head has been above that of the upstream for some time. */
  hasBeenAbove(upstream: U, forMs: number, now: number): boolean {
    const head = this.headOf(upstream);
    return head !== undefined && lagAt(this.pastHeads, head.number, now - forMs) > 0;
  }

  /** Whether the upstream's head is known and below the network's head. */
  isBehind(upstream: U): boolean {
    const head = this.headOf(upstream);
    return head !== undefined && this.number !== undefined && head.number < this.number;
  }

  /** Whether the upstream is behind the network's head, or behind the newest served block. */
  isLagging(upstream: U, now: number): boolean {
    const head = this.headOf(upstream);
    return head !== undefined && (head.number < this.newestServed || this.lagOf(upstream, now) > 0);
  }

  /** Whether the upstream's newest known block became known after this time: it may have lacked the block before. */
  hasAdvancedSince(upstream: U, time: number): boolean {
    return (this.upstreams.get(upstream)?.advancedAt ?? -Infinity) > time;
  }

  /** Whether several nodes of different height probably share the upstream's URL. */
  isAlternating(upstream: U, now: number): boolean {
    const known = this.upstreams.get(upstream);
    return known !== undefined && isAlternating(known, now);
  }
}

/** The blocks of the upstream are those of the network. */
export const asFollowed: Standing = {};

type ViewState<U> = Pick<
  ChainView<U>,
  | ('epoch' | 'unbrokenSince' | 'marks' | 'branch' | 'number' | 'newestServed' | 'seenAt' | 'blockMs' | 'headers')
  | ('pastHeads' | 'gasBlock' | 'dispute' | 'witnesses' | 'tagged' | 'served' | 'upstreams')
>;
