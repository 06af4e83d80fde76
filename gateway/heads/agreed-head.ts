import type { NetworkHeadMetrics } from '../metrics/head-metrics.ts';
import { BlockPace } from './block-pace.ts';
import type { HeadFollower } from './head-follower.ts';
import type { HeadSource } from './head-source.ts';
import { HeadHistory } from './head-history.ts';
import type { Header } from './header.ts';
import type { HeaderRing } from './header-ring.ts';
import { NewestServedBlock } from './newest-served-block.ts';
import { MAX_GAS_LIMIT_AGE_MS, parsePolledHead, type PolledHead } from './polled-head.ts';
import { selectHead } from './select-head.ts';

/** A lower head is confirmed after this many polls of each upstream at or below it. */
const CONFIRMING_POLLS = 3;
/** The same if several nodes share, or may share, the URL: with two, 9 polls in a row reach one in 256 cases. */
const CONFIRMING_POLLS_ALTERNATING = 9;

/** An upstream is hardly this many blocks behind: the chain starts anew. */
const MAX_LAGGING_BLOCKS = 512n;

/** A block of which callers are served an object. */
export interface ServedBlock {
  readonly number: bigint;
  /** Lower case; undefined: not known. */
  readonly hash?: string | undefined;
}

/** The head that was selected from those of the usable upstreams. */
export interface SelectedHead {
  readonly head: PolledHead;
  /** The upstream that reported it. */
  readonly source: HeadSource;
  /** All usable upstreams report this block, or the chain was replaced by a shorter one. */
  readonly isConfirmed: boolean;
}

/**
 * Holds the head of one network, on which its usable upstreams agree, and what follows from it: the block time, the lag of
 * each upstream, the gas limit. It does not poll.
 */
export class AgreedHead {
  readonly pace = new BlockPace();
  readonly newestServed = new NewestServedBlock();
  readonly gasLimit = new HeadGasLimit();
  /** The polls below the head are not yet enough to confirm a lower head. */
  hasUnconfirmedLower = false;
  /** Time of the latest poll or notification, also of a lower head. */
  seenAt = -Infinity;
  /** Another number after each time at which blocks may have been replaced unnoticed. */
  continuity = 0;
  /** Another number after each sign that an upstream's head has been replaced since its last poll. */
  headVersion = 0;
  /** The upstream of whose other branch a caller was served a block, and when. */
  #otherBranch: { readonly source: HeadSource; readonly at: number } | undefined;
  /** The number of the newest block known to be final. */
  #final: bigint | undefined;
  #history = new HeadHistory();
  readonly #metrics: NetworkHeadMetrics;
  readonly #ring: HeaderRing;
  readonly #minLowerMs: number;
  #isDevelopment: boolean;
  #head: PolledHead | undefined;
  /** The time since which all usable upstreams are below the head. */
  #lowerSince: number | undefined;
  /** The chain changed to a lower branch, of which the head may be a block, too. */
  #mayBeReplaced = false;

  /**
   * @param isDevelopment blocks can be removed, so that confirmed lower heads are always followed
   * @param minLowerMs minimum time until a lower head is confirmed on other chains, because calls may poll often
   */
  constructor(metrics: NetworkHeadMetrics, ring: HeaderRing, isDevelopment: boolean, minLowerMs: number) {
    this.#metrics = metrics;
    this.#ring = ring;
    this.#isDevelopment = isDevelopment;
    this.#minLowerMs = minLowerMs;
  }

  /** The newest block that was served is of another branch than the followed one, which is polled again. */
  get isBranchUncertain(): boolean {
    return this.#otherBranch !== undefined;
  }

  get number(): bigint | undefined {
    return this.#head?.number;
  }

  /** @param updated the follower with a new poll, whose polls below the head are counted */
  update(followers: readonly HeadFollower[], updated: HeadFollower | undefined): SelectedHead | undefined {
    if (updated !== undefined && this.#isBackAtHead(updated)) this.#otherBranch = undefined;
    const usable = followers.filter(({ isUsable }) => isUsable);
    const polledHeads = usable.flatMap(({ latest }) => latest ?? []);
    const head = selectHead(polledHeads, this.#head, this.pace.ms);
    const source = usable.find(({ latest }) => latest === head)?.source;
    if (head === undefined || source === undefined) return undefined;
    this.seenAt = Math.max(this.seenAt, head.at);
    if (this.#head === undefined || head.number >= this.#head.number) {
      this.accept(head, followers);
      return { head, source, isConfirmed: usable.every(({ latest }) => latest?.header?.hash === head.header?.hash) };
    }
    if (updated?.latest !== undefined) updated.pollsBelow++;
    const deciding = usable.filter(({ latest }) => latest !== undefined && latest.number <= head.number);
    const wasUnconfirmed = this.hasUnconfirmedLower;
    const now = performance.now();
    this.#lowerSince ??= now;
    const isNew = !this.#isDevelopment && now - this.#lowerSince < this.#minLowerMs;
    const isOld = head.header !== undefined && this.#ring.hasRemoved(head.header);
    const isPolled = ({ pollsBelow, isAlternating }: HeadFollower): boolean =>
      pollsBelow >= (isAlternating || isOld ? CONFIRMING_POLLS_ALTERNATING : CONFIRMING_POLLS);
    this.hasUnconfirmedLower = isNew || !deciding.every(isPolled);
    const isConfirmed = !this.hasUnconfirmedLower && this.#isReplaced(head, this.#head, followers);
    if (isConfirmed || (this.hasUnconfirmedLower && !wasUnconfirmed)) this.continuity++;
    if (isConfirmed) this.accept(head, followers);
    return { head, source, isConfirmed };
  }

  accept(head: PolledHead, followers: readonly HeadFollower[]): void {
    this.hasUnconfirmedLower = false;
    this.#lowerSince = undefined;
    this.#mayBeReplaced = false;
    const previous = this.#head?.number;
    for (const follower of followers) follower.pollsBelow = 0;
    this.#history.add(head);
    if (head.number !== previous) this.#metrics.head(Number(head.number));
    this.pace.observe(head);
    this.#head = head;
    if (this.#final !== undefined && head.number < this.#final) this.#final = undefined;
    this.newestServed.follow(head, this.pace.ms, previous !== undefined && head.number < previous, followers);
    this.gasLimit.update(head, followers);
  }

  /**
   * The followed chain has this head, and these blocks are not in it any more. It may be shorter; an upstream may have more of
   * its blocks already. Upstreams whose head was removed have at least the block before.
   */
  acceptBranch(header: Header | undefined, removed: readonly Header[], followers: readonly HeadFollower[]): void {
    this.#otherBranch = undefined;
    if (header === undefined || removed.length === 0) return;
    const { number, block } = header;
    const fork = (removed.at(-1)?.number ?? 0n) - 1n;
    for (const follower of followers)
      if (removed.some(({ hash }) => hash === follower.latest?.header?.hash)) follower.rewindTo(fork);
    let head: PolledHead | undefined = parsePolledHead(block, performance.now());
    for (const { isUsable, latest } of followers)
      if (isUsable && latest !== undefined && latest.number > (head?.number ?? number)) head = latest;
    if (head === undefined || this.#head === undefined || head.number >= this.#head.number) return;
    // A newer block than those that were removed is known from a response. Polls decide.
    this.#mayBeReplaced = this.#head.number > (removed[0]?.number ?? 0n);
    if (!this.#mayBeReplaced) this.accept(head, followers);
  }

  /** The chain was changed by a request of a development tool: a lower head on the same chain is followed from now on. */
  allowShorterChain(): void {
    this.#isDevelopment = true;
    this.newestServed.forget();
  }

  /** The head was that of another chain. */
  forget(): void {
    this.#head = undefined;
    this.#final = undefined;
    this.#history = new HeadHistory();
    this.#lowerSince = undefined;
    this.#otherBranch = undefined;
    this.hasUnconfirmedLower = false;
    this.newestServed.forget();
    this.continuity++;
    this.headVersion++;
  }

  recordFinal(number: bigint): void {
    if (this.#final === undefined || number > this.#final) this.#final = number;
  }

  /**
   * A caller is served a block, or an object in it, of this upstream. If the block is older than its head, or on another
   * branch, the head is polled, and no state at it is cached until then.
   * @param isLatest for `latest`
   * @param sentAt when the upstream was asked
   */
  recordServed(
    { number, hash }: ServedBlock,
    source: HeadSource,
    follower: HeadFollower | undefined,
    { now, isLatest, sentAt }: { readonly now: number; readonly isLatest: boolean; readonly sentAt: number },
  ): void {
    const knownHash = this.#ring.at(number)?.hash;
    const isOnOtherBranch = hash !== undefined && hash !== (knownHash ?? hash);
    if (isOnOtherBranch && (isLatest || number >= this.newestServed.number)) this.#otherBranch = { source, at: now };
    if (isOnOtherBranch || (isLatest && follower?.isContradictedBy(number, sentAt) === true))
      this.#suspect(source, follower);
    // Below a final block, it is of another chain.
    if (isLatest && this.#final !== undefined && number < this.#final) this.continuity++;
    follower?.observe(number, now);
    const mayBeNewest = isLatest || isOnOtherBranch || number === follower?.latest?.number;
    this.newestServed.record(number, source, now, mayBeNewest);
  }

  /** Whether the upstream that served another branch has the followed head since: it served a block that was removed. */
  #isBackAtHead({ source, latest, isAlternating }: HeadFollower): boolean {
    if (this.#otherBranch?.source !== source || isAlternating || latest === undefined) return false;
    return latest.at > this.#otherBranch.at && latest.header !== undefined && this.#ring.has(latest.header.hash);
  }

  #suspect(source: HeadSource, follower: HeadFollower | undefined): void {
    if (source.isHeadUncertain || follower === undefined || follower.isAlternating) return;
    source.isHeadUncertain = true;
    this.headVersion++;
    follower.poll().catch(() => undefined); // the next round polls again
  }

  isAbove(follower: HeadFollower | undefined): boolean {
    const latest = follower?.latest;
    return latest !== undefined && this.#head !== undefined && latest.number < this.#head.number;
  }

  /** Whether the head has been above the upstream's for some time. */
  hasBeenAbove({ latest }: HeadFollower, forMs: number, now: number): boolean {
    return latest !== undefined && this.#history.lagAt(latest.number, now - forMs) > 0;
  }

  /** Blocks by which an upstream is behind: at its last poll, or now if it sends notifications. 0: its head is not known. */
  lagOf(follower: HeadFollower | undefined): number {
    const latest = follower?.latest;
    if (latest === undefined) return 0;
    return follower?.isSubscribed === true
      ? this.#history.lagNow(latest.number, performance.now())
      : this.#history.lagOf(latest, this.pace.ms);
  }

  /**
   * Whether a confirmed lower head shows that the chain was replaced. A known block, or one about which nothing is known, may be
   * a part of the same chain, because the upstreams with the newest blocks failed and the others lag. So does one on a branch
   * that a reorg removed; only an upstream alone may have gone back to it.
   */
  #isReplaced({ number, header }: PolledHead, previous: PolledHead, followers: readonly HeadFollower[]): boolean {
    if (this.#isDevelopment || this.#mayBeReplaced) return true;
    const isAlone = followers.length === 1 && followers[0]?.isAlternating === false;
    if (!isAlone && header !== undefined && this.#ring.hasRemoved(header)) return false;
    const knownHash = this.#ring.at(number)?.hash;
    if (knownHash !== undefined && header !== undefined) return header.hash !== knownHash;
    return (this.#final !== undefined && number < this.#final) || previous.number - number > MAX_LAGGING_BLOCKS;
  }
}

/** Holds the gas limit of the network's newest block that has a usable one. */
class HeadGasLimit {
  #block: PolledHead | undefined;

  /**
   * 0: no block has a usable gas limit. Undefined: the last one is older than five minutes, or no block is known.
   * @param now on the clock of performance.now()
   */
  get(now: number): bigint | undefined {
    return this.#block !== undefined && now - this.#block.at < MAX_GAS_LIMIT_AGE_MS ? this.#block.gasLimit : undefined;
  }

  /** If the new head's gas limit is 0, the head of an upstream with a usable one replaces it. */
  update(head: PolledHead, followers: readonly HeadFollower[]): void {
    if (head.gasLimit === 0n) this.#block = followers.find(({ hasGasLimit }) => hasGasLimit)?.latest ?? head;
    else if (head.gasLimit !== undefined) this.#block = head;
  }
}
