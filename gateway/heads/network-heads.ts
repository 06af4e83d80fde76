import { causeOf, type Log } from '../config/log.ts';
import type { NetworkHeadMetrics } from '../metrics/head-metrics.ts';
import { AgreedHead, type ServedBlock } from './agreed-head.ts';
import { HeadWaiters } from './head-waiters.ts';
import type { CanonicalChain, ChainChange } from './canonical-chain.ts';
import { ChainFollower, type FilledGaps } from './chain-follower.ts';
import { HeadFollower } from './head-follower.ts';
import type { HeadSource, Probed } from './head-source.ts';
import { confirmationIntervalMs, planRound, silenceLimits, defaultTimes, type HeadTimes } from './head-times.ts';
import type { Header } from './header.ts';
import type { BlockPace } from './block-pace.ts';
import type { NewestServedBlock } from './newest-served-block.ts';
import type { PolledBlock, PolledHead } from './polled-head.ts';

export interface NetworkHeadsOptions {
  /** A development chain, whose blocks can be removed: lower heads are always followed. */
  readonly isDevelopment: boolean;
  readonly times?: Partial<HeadTimes>;
  readonly log: Log;
}

/**
 * Follows the heads of one network's upstreams, and decides the network's head. It polls only while the network is in use.
 * While there are watchers, missing blocks are fetched; if that fails, the chain restarts and the change has `hasGap`.
 */
export class NetworkHeads implements CanonicalChain {
  readonly newestServed: NewestServedBlock;
  readonly pace: BlockPace;
  readonly #followers = new Map<HeadSource, HeadFollower>();
  readonly #chain: ChainFollower;
  readonly #agreed: AgreedHead;
  readonly #times: HeadTimes;
  readonly #watchers = new Set<(change: ChainChange) => void>();
  readonly #waiters = new HeadWaiters();
  readonly waitForChange = this.#waiters.wait.bind(this.#waiters);
  #probed: readonly Probed[] = [];
  #timer: NodeJS.Timeout | undefined;
  #startedAt = -Infinity;
  #usedAt = -Infinity;
  #nextRoundAt = -Infinity;
  #isClosed = false;
  /** The latest head of an upstream; undefined if it is not known. */
  readonly headOf = (upstream: HeadSource): PolledHead | undefined => this.#followers.get(upstream)?.latest;
  /** Whether the upstream's newest known block became known after this time. */
  readonly hasAdvancedSince = (upstream: HeadSource, time: number): boolean =>
    (this.#followers.get(upstream)?.advancedAt ?? -Infinity) > time;
  /** Whether several nodes of different height probably share its URL. */
  readonly isAlternating = (upstream: HeadSource): boolean => this.#followers.get(upstream)?.isAlternating === true;

  constructor(sources: readonly HeadSource[], metrics: NetworkHeadMetrics, options: NetworkHeadsOptions) {
    this.#times = { ...defaultTimes, ...options.times };
    this.#chain = new ChainFollower(this.#followers, this.#onChainChange.bind(this), (error) => {
      options.log.error(causeOf(error), 'following the chain failed');
    });
    this.#agreed = new AgreedHead(metrics, this.#chain.ring, options.isDevelopment, 2 * this.#times.confirmMinMs);
    this.newestServed = this.#agreed.newestServed;
    this.pace = this.#agreed.pace;
    this.replaceSources(sources);
  }

  /** Replaces the upstreams, best first. Known heads of unchanged ones are retained. @param probed also those without polls */
  replaceSources(sources: readonly HeadSource[], probed: readonly Probed[] = []): void {
    this.#probed = probed;
    const previous = new Map(this.#followers);
    this.#followers.clear();
    for (const source of sources) {
      this.#followers.set(source, previous.get(source) ?? new HeadFollower(source, this.#times, this.#onUpdate));
      previous.delete(source);
    }
    for (const removed of previous.values()) removed.stop();
  }

  get head(): Header | undefined {
    return this.#chain.ring.head;
  }

  /** The number of the network's head, which callers may be served. `head` may differ until its header is fetched. */
  get number(): bigint | undefined {
    return this.#agreed.number;
  }

  get seenAt(): number {
    return this.#agreed.seenAt;
  }

  get continuity(): number {
    return this.#agreed.continuity;
  }

  get headVersion(): number {
    return this.#agreed.headVersion;
  }

  get isBranchUncertain(): boolean {
    return this.#agreed.isBranchUncertain;
  }

  at(number: bigint): Header | undefined {
    return this.#chain.ring.at(number);
  }

  has(hash: string): boolean {
    return this.#chain.ring.has(hash);
  }

  recordFinal(number: bigint): void {
    this.#agreed.recordFinal(number);
  }

  /** Blocks by which an upstream is behind the network's head; 0 if its head is not known. */
  lagOf(upstream: HeadSource): number {
    return this.#agreed.lagOf(this.#followers.get(upstream));
  }

  readonly isBehind = (upstream: HeadSource): boolean => this.#agreed.isAbove(this.#followers.get(upstream));

  /** Polls the head of an upstream that is behind, if due. A call that would use it waits for the promise, if any. */
  catchUp(upstream: HeadSource, now: number): Promise<void> | undefined {
    return this.#followers.get(upstream)?.catchUp(now);
  }

  /** The gas limit of the newest block that has a usable one. 0: no block has one. Undefined: not known or too old. */
  gasLimit(now: number): bigint | undefined {
    return this.#agreed.gasLimit.get(now);
  }

  /** Polls an upstream's head now. Undefined if it returns no block, or was removed since. @throws UpstreamFailure */
  poll(upstream: HeadSource): Promise<PolledBlock | undefined> {
    const follower = this.#followers.get(upstream);
    if (follower === undefined) upstream.isHeadUncertain = false; // its head is not followed
    return follower?.poll() ?? Promise.resolve(undefined);
  }

  /** A caller is served a block of this upstream. @param isLatest for `latest` */
  recordServed(upstream: HeadSource, block: ServedBlock, now: number, isLatest = false, sentAt = now): void {
    this.#agreed.recordServed(block, upstream, this.#followers.get(upstream), { now, isLatest, sentAt });
  }

  /** The chain was changed by a request, and may be shorter now. */
  allowShorterChain(): void {
    this.#agreed.allowShorterChain();
  }

  watch(listener: (change: ChainChange) => void): () => void {
    // A function of its own, because the same listener may be added twice.
    const watcher = listener.bind(undefined);
    if (this.#watchers.size === 0) this.#chain.pause();
    this.#watchers.add(watcher);
    this.#recordDelivered();
    this.#startRound(performance.now(), this.#watchers.size === 1);
    return () => void this.#watchers.delete(watcher);
  }

  waitForHead(timeoutMs: number): Promise<Header | undefined> {
    return this.#chain.isCurrent ? Promise.resolve(this.head) : this.#waiters.wait(timeoutMs);
  }

  markUsed(now: number): void {
    if (now - Math.max(this.#usedAt, this.seenAt) > this.#times.pauseMs) this.#agreed.continuity++;
    this.#usedAt = now;
    if (now >= this.#nextRoundAt) this.#startRound(now);
  }

  close(): void {
    this.#watchers.clear();
    this.#stop();
    this.#isClosed = true;
    this.#waiters.resolveAll(undefined);
  }

  /** Updates all followers, which poll if due, and schedules the next round. */
  #startRound(now = performance.now(), isFirstWatch = false): void {
    if (this.#isClosed) return;
    const sinceUseMs = this.#watchers.size > 0 ? undefined : now - this.#usedAt;
    if (sinceUseMs !== undefined && sinceUseMs > this.#times.idleAfterMs) {
      this.#stop();
      return;
    }
    const wasStopped = this.#timer === undefined;
    if (wasStopped || isFirstWatch) this.#startedAt = now;
    if (wasStopped) {
      this.#agreed.continuity++;
      this.pace.pause();
      this.#chain.pause();
    }
    const { hasUnconfirmedLower } = this.#agreed;
    const blockMs = this.pace.ms;
    const round = planRound(this.#times, { sinceUseMs, isFirstWatch, hasUnconfirmedLower, blockMs });
    const silence = silenceLimits(this.#times, blockMs);
    let nextMs = wasStopped ? Math.min(round.nextMs, this.#times.startMs) : round.nextMs;
    for (const follower of this.#followers.values()) {
      const isLate = hasUnconfirmedLower || this.#agreed.hasBeenAbove(follower, this.#times.lateMs, now);
      const dueMs = follower.update(now, round.intervalMs, silence, isLate) ?? nextMs;
      // One that was polled between two rounds. Without calls, it waits for the next round.
      if (round.nextMs <= round.minIntervalMs) nextMs = Math.min(nextMs, dueMs);
    }
    for (const follower of this.#followers.values()) if (follower.source.isOnOtherChain) this.#leave(follower);
    for (const upstream of this.#probed) upstream.probeIfIdle(now);
    this.#nextRoundAt = now + round.minIntervalMs;
    this.#setTimer(nextMs);
    this.#updateAgreed(undefined);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#nextRoundAt = -Infinity;
    this.#agreed.hasUnconfirmedLower = false;
    for (const follower of this.#followers.values()) follower.stop();
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#startRound.bind(this), ms).unref();
  }

  readonly #onUpdate = (follower: HeadFollower): void => {
    if (follower.source.isOnOtherChain) this.#leave(follower);
    else this.#verifyChainOf(follower);
    this.#updateAgreed(follower);
    follower.recordPosition(this.#agreed.isAbove(follower));
    follower.source.metrics.lag(this.lagOf(follower.source));
  };

  /** A head that does not continue the chain may be that of another one. */
  #verifyChainOf(follower: HeadFollower): void {
    const header = follower.latest?.header;
    if (header === undefined) return;
    const wasForeign = follower.isForeign;
    follower.isForeign = this.#chain.isForeign(header);
    if (!follower.isForeign || wasForeign) return;
    void follower.source.verifyChain().then(() => {
      if (!follower.source.isOnOtherChain) return;
      this.#leave(follower);
      this.#updateAgreed(undefined);
    });
  }

  /** Drops what is known only from an upstream that is on another chain. */
  #leave(follower: HeadFollower): void {
    const number = follower.latest?.number ?? follower.latestHeader?.number;
    if (number === undefined) return;
    follower.leaveChain();
    const others = [...this.#followers.values()].filter(({ isUsable }) => isUsable);
    const isHeadOfOthers = others.some(({ latest }) => (latest?.number ?? -1n) >= (this.#agreed.number ?? 0n));
    if (number >= (this.#agreed.number ?? 0n) && !isHeadOfOthers) this.#agreed.forget();
    this.#chain.leave(follower.source, others.length > 0);
  }

  /** @param updated the follower with a new or failed poll, if any */
  #updateAgreed(updated: HeadFollower | undefined): void {
    const followers = [...this.#followers.values()];
    const isStarting = performance.now() - this.#startedAt < this.#times.startMs;
    if (isStarting && followers.some((follower) => follower.isPending(this.#startedAt))) return;
    const wasUnconfirmed = this.#agreed.hasUnconfirmedLower;
    const selected = this.#agreed.update(followers, updated);
    if (this.#agreed.hasUnconfirmedLower && !wasUnconfirmed)
      this.#setTimer(confirmationIntervalMs(this.#times, this.pace.ms));
    if (selected === undefined) return;
    const isInUse = performance.now() - this.#usedAt < this.#times.usedMaxMs;
    const fills = this.#watchers.size > 0 ? 'all' : isInUse ? 'small' : 'none';
    const { head, source, isConfirmed } = selected;
    if (head.header !== undefined) this.#chain.follow(head.header, source, isConfirmed, fills);
    else this.#followNewestHeader(head.number, followers, fills);
  }

  /** Only the number of the head is known, from a response to a caller: the chain follows the newest header up to it. */
  #followNewestHeader(max: bigint, followers: readonly HeadFollower[], fills: FilledGaps): void {
    const { ring } = this.#chain;
    let newest: HeadFollower | undefined;
    for (const follower of followers) {
      const header = follower.isUsable ? follower.latestHeader : undefined;
      if (header === undefined || header.number > max || ring.hasRemoved(header)) continue;
      if (header.number > (newest?.latestHeader?.number ?? ring.head?.number ?? -1n)) newest = follower;
    }
    if (newest?.latestHeader !== undefined) this.#chain.follow(newest.latestHeader, newest.source, false, fills);
  }

  #onChainChange(change: ChainChange, isContinuous: boolean): void {
    this.#agreed.acceptBranch(this.head, change.removed, [...this.#followers.values()]);
    this.#recordDelivered();
    if (isContinuous) for (const listener of this.#watchers) listener(change);
    this.#waiters.resolveAll(this.head);
  }

  /** Watchers get the head of the chain. It is above the network's head only while a reorg is followed. */
  #recordDelivered(): void {
    const { head, number } = this;
    if (this.#watchers.size === 0 || head === undefined || number === undefined || head.number > number) return;
    this.newestServed.record(head.number, undefined, performance.now(), true);
  }
}
