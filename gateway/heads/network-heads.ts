import type { NetworkHeadMetrics } from '../metrics/head-metrics.ts';
import { HeadWaiters } from './awaited-head.ts';
import { BlockPace } from './block-pace.ts';
import type { CanonicalChain, ChainChange } from './canonical-chain.ts';
import { ChainFollower } from './chain-follower.ts';
import { findAgreement } from './head-agreement.ts';
import { HeadFollower, type HeadSource } from './head-follower.ts';
import { HeadHistory } from './head-history.ts';
import { confirmationInterval, pollInterval, maxSilence, defaultTimes, type HeadTimes } from './head-times.ts';
import { HeadGasLimit } from './head-gas-limit.ts';
import type { Header } from './header.ts';
import { parsePolledHead, type PolledBlock, type PolledHead } from './head-poll.ts';

/**
 * The heads of one network's upstreams, and what they agree on. They are followed while the network is in use, and
 * nobody is asked anything otherwise; the chain is without gaps while somebody watches.
 */
export class NetworkHeads implements CanonicalChain {
  readonly #followers = new Map<HeadSource, HeadFollower>();
  readonly #chain: ChainFollower;
  readonly pace = new BlockPace();
  readonly #history = new HeadHistory();
  readonly #metrics: NetworkHeadMetrics;
  readonly #times: HeadTimes;
  readonly #listeners = new Set<(change: ChainChange) => void>();
  readonly #waiters = new HeadWaiters();
  #agreed: PolledHead | undefined;
  readonly #gasLimit = new HeadGasLimit();
  #isUnconfirmed = false;
  #timer: NodeJS.Timeout | undefined;
  #startedAt = -Infinity;
  #usedAt = -Infinity;
  /** When a call is reason to look again. */
  #nextRoundAt = -Infinity;
  #isClosed = false;
  /** What was last seen at an upstream. */
  readonly headOf = (upstream: HeadSource): PolledHead | undefined => this.#followers.get(upstream)?.latest;

  constructor(sources: readonly HeadSource[], metrics: NetworkHeadMetrics, times: Partial<HeadTimes> = {}) {
    this.#metrics = metrics;
    this.#times = { ...defaultTimes, ...times };
    this.#chain = new ChainFollower(this.#followers, (change, isContinuous) => {
      this.#changed(change, isContinuous);
    });
    this.moveTo(sources);
  }

  /** Goes on with these upstreams, best first: what is known of those that stay is kept, others are asked no more. */
  moveTo(sources: readonly HeadSource[]): void {
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

  /** The network's head as a number: what has been told, or may be told, to callers. It is never above `head` for long. */
  get number(): bigint | undefined {
    return this.#agreed?.number;
  }

  get seenAt(): number {
    return this.#agreed?.at ?? -Infinity;
  }

  /** The newest block that watchers were told of. */
  get newestDelivered(): bigint | undefined {
    return this.#listeners.size === 0 ? undefined : this.head?.number;
  }

  at(number: bigint): Header | undefined {
    return this.#chain.ring.at(number);
  }

  has(hash: string): boolean {
    return this.#chain.ring.has(hash);
  }

  /**
   * Whether an upstream has come so far. Where nobody has, as far as is known, and of an upstream that was not looked at
   * yet, nothing is said against it.
   */
  hasBlock(upstream: HeadSource, number: bigint): boolean {
    const polled = this.headOf(upstream);
    return polled === undefined || polled.number >= number || number > (this.number ?? 0n);
  }

  /** Blocks that an upstream was behind the network's head when it was last looked at; 0 where nothing is known. */
  lagOf(upstream: HeadSource): number {
    const polled = this.headOf(upstream);
    return polled === undefined ? 0 : this.#history.lagOf(polled, this.pace.ms);
  }

  /** The gas limit of the newest block that has a usable one, where it was seen of late; 0 where none has. */
  gasLimit(now: number): bigint | undefined {
    return this.#gasLimit.get(now);
  }

  /** Looks at an upstream's head now. Undefined where it gives no block. @throws UpstreamFailure */
  poll(upstream: HeadSource): Promise<PolledBlock | undefined> {
    // A call may be on its way with one that was taken out of the network's file meanwhile.
    return this.#followers.get(upstream)?.poll() ?? Promise.resolve(undefined);
  }

  /** An upstream gave a caller a block of this number, or told it as its head. */
  observe(upstream: HeadSource, number: bigint, now: number): void {
    this.#followers.get(upstream)?.observe(number, now);
  }

  watch(listener: (change: ChainChange) => void): () => void {
    const own = (change: ChainChange): void => {
      listener(change);
    };
    if (this.#listeners.size === 0) this.#chain.pause();
    this.#listeners.add(own);
    this.#round(performance.now(), this.#listeners.size === 1);
    return () => {
      this.#listeners.delete(own);
    };
  }

  current(timeoutMs: number): Promise<Header | undefined> {
    return this.#chain.isCurrent ? Promise.resolve(this.head) : this.#waiters.wait(timeoutMs);
  }

  markUsed(now: number): void {
    this.#usedAt = now;
    if (now >= this.#nextRoundAt) this.#round(now);
  }

  /** Asks nobody any more. */
  close(): void {
    this.#listeners.clear();
    this.#stop();
    this.#isClosed = true;
    this.#waiters.resolveAll(undefined);
  }

  /** Looks at all whose turn it is, and sets the time of the next round. */
  #round(now: number, isFirstWatch = false): void {
    if (this.#isClosed) return;
    const isWatched = this.#listeners.size > 0;
    const sinceUse = isWatched ? undefined : now - this.#usedAt;
    if (sinceUse !== undefined && sinceUse > this.#times.usedFor) {
      this.#stop();
      return;
    }
    const isStart = this.#timer === undefined;
    if (isStart || isFirstWatch) this.#startedAt = now;
    if (isStart) {
      this.pace.pause();
      this.#chain.pause();
    }
    const pace = this.pace.ms;
    const minInterval = pollInterval(this.#times, isWatched ? undefined : 0, pace);
    const confirmInterval = confirmationInterval(this.#times, pace);
    const interval = isFirstWatch ? 0 : this.#isUnconfirmed ? confirmInterval : minInterval;
    const silence = maxSilence(this.#times, pace);
    for (const follower of this.#followers.values()) {
      follower.update(now, interval, silence, this.#isUnconfirmed || this.#isLate(follower, now));
    }
    this.#nextRoundAt = now + minInterval;
    const next = this.#isUnconfirmed ? confirmInterval : pollInterval(this.#times, sinceUse, pace);
    this.#setTimer(isStart ? Math.min(next, this.#times.start) : next);
    this.#updateAgreed(undefined);
  }

  /** Others have been ahead of it for a while, whatever newHeads told. */
  #isLate({ latest: polled }: HeadFollower, now: number): boolean {
    const head = this.#agreed;
    return (
      head !== undefined && polled !== undefined && polled.number < head.number && now - head.at > this.#times.lateMs
    );
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#nextRoundAt = -Infinity;
    this.#isUnconfirmed = false;
    for (const follower of this.#followers.values()) follower.stop();
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#round(performance.now());
    }, ms).unref();
  }

  readonly #onUpdate = (follower: HeadFollower): void => {
    this.#updateAgreed(follower);
    follower.source.metrics.lag(this.lagOf(follower.source));
  };

  /** @param updated who has just been heard of, if anybody */
  #updateAgreed(updated: HeadFollower | undefined): void {
    const followers = [...this.#followers.values()];
    const isStarting = performance.now() - this.#startedAt < this.#times.start;
    if (isStarting && followers.some((one) => one.isPending(this.#startedAt))) return;
    const agreement = findAgreement(followers, updated, this.#agreed, this.pace.ms);
    if (agreement === undefined) return;
    const { head: agreed, source, isBelow, isConfirmed } = agreement;
    if (!isBelow || isConfirmed) this.#accept(agreed, followers);
    else if (!this.#isUnconfirmed) {
      this.#isUnconfirmed = true;
      this.#setTimer(confirmationInterval(this.#times, this.pace.ms));
    }
    if (agreed.header !== undefined) this.#chain.follow(agreed.header, source, isConfirmed, this.#listeners.size > 0);
  }

  #accept(agreed: PolledHead, followers: readonly HeadFollower[]): void {
    this.#isUnconfirmed = false;
    for (const follower of followers) follower.pollsBelow = 0;
    if (agreed.number !== this.#agreed?.number) {
      this.#history.moved(agreed);
      this.#metrics.head(Number(agreed.number));
    }
    this.pace.observe(agreed);
    this.#agreed = agreed;
    this.#gasLimit.update(agreed, followers);
  }

  #changed(change: ChainChange, isContinuous: boolean): void {
    const { head } = this;
    // A branch that is shorter than what it replaces.
    if (head !== undefined && change.removed.length > 0 && head.number < (this.#agreed?.number ?? 0n)) {
      const polled = parsePolledHead(head.block, performance.now());
      if (polled !== undefined) this.#accept(polled, [...this.#followers.values()]);
    }
    if (isContinuous) for (const listener of this.#listeners) listener(change);
    this.#waiters.resolveAll(head);
  }
}
