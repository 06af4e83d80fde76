import type { NetworkHeadMeters } from '../metrics/head-metrics.ts';
import { agreedHead } from './agreed-head.ts';
import { AwaitedHead } from './awaited-head.ts';
import { BlockPace } from './block-pace.ts';
import type { CanonicalChain, ChainChange } from './canonical-chain.ts';
import { ChainFollower } from './chain-follower.ts';
import { HeadFollower, type HeadSource } from './head-follower.ts';
import { HeadHistory } from './head-history.ts';
import { doubtInterval, pollInterval, silenceLimit, usualTimes, type HeadTimes } from './head-times.ts';
import type { Header } from './header.ts';
import { GAS_LIMIT_AGE_MS, readLook, type BlockLook, type Look } from './look.ts';

/** Looks below the head, of every upstream that counts, until it is believed that the chain went back. */
const TIMES_BELOW = 3;

/**
 * The heads of one network's upstreams, and what they agree on. They are followed while the network is in use, and
 * nobody is asked anything otherwise; the chain is without gaps while somebody watches.
 */
export class NetworkHeads implements CanonicalChain {
  readonly #followers = new Map<HeadSource, HeadFollower>();
  readonly #chain: ChainFollower;
  readonly pace = new BlockPace();
  readonly #history = new HeadHistory();
  readonly #meters: NetworkHeadMeters;
  readonly #times: HeadTimes;
  readonly #listeners = new Set<(change: ChainChange) => void>();
  readonly #awaited = new AwaitedHead();
  #agreed: Look | undefined;
  /** The newest with a gas limit. */
  #block: Look | undefined;
  #isInDoubt = false;
  #timer: NodeJS.Timeout | undefined;
  #startedAt = -Infinity;
  #usedAt = -Infinity;
  /** When a call is reason to look again. */
  #dueAt = -Infinity;
  #isClosed = false;
  /** What was last seen at an upstream. */
  readonly lookOf = (upstream: HeadSource): Look | undefined => this.#followers.get(upstream)?.look;

  constructor(sources: readonly HeadSource[], meters: NetworkHeadMeters, times: Partial<HeadTimes> = {}) {
    this.#meters = meters;
    this.#times = { ...usualTimes, ...times };
    this.#chain = new ChainFollower(this.#followers, (change, isTold) => {
      this.#changed(change, isTold);
    });
    this.moveTo(sources);
  }

  /** Goes on with these upstreams, best first: what is known of those that stay is kept, others are asked no more. */
  moveTo(sources: readonly HeadSource[]): void {
    const before = new Map(this.#followers);
    this.#followers.clear();
    for (const source of sources) {
      this.#followers.set(source, before.get(source) ?? new HeadFollower(source, this.#times, this.#heard));
      before.delete(source);
    }
    for (const gone of before.values()) gone.stop();
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
  get told(): bigint | undefined {
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
    const look = this.lookOf(upstream);
    return look === undefined || look.number >= number || number > (this.number ?? 0n);
  }

  /** Blocks that an upstream was behind the network's head when it was last looked at; 0 where nothing is known. */
  lagOf(upstream: HeadSource): number {
    const look = this.lookOf(upstream);
    return look === undefined ? 0 : this.#history.lagOf(look, this.pace.ms);
  }

  /** The gas limit of the newest block that has a usable one, where it was seen of late; 0 where none has. */
  gasLimit(now: number): bigint | undefined {
    return this.#block !== undefined && now - this.#block.at < GAS_LIMIT_AGE_MS ? this.#block.gasLimit : undefined;
  }

  /** Looks at an upstream's head now. Undefined where it gives no block. @throws UpstreamFailure */
  look(upstream: HeadSource): Promise<BlockLook | undefined> {
    // A call may be on its way with one that was taken out of the network's file meanwhile.
    return this.#followers.get(upstream)?.poll() ?? Promise.resolve(undefined);
  }

  /** An upstream gave a caller a block of this number, or told it as its head. */
  saw(upstream: HeadSource, number: bigint, now: number): void {
    this.#followers.get(upstream)?.saw(number, now);
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

  current(limitMs: number): Promise<Header | undefined> {
    return this.#chain.isCurrent ? Promise.resolve(this.head) : this.#awaited.wait(limitMs);
  }

  used(now: number): void {
    this.#usedAt = now;
    if (now >= this.#dueAt) this.#round(now);
  }

  /** Asks nobody any more. */
  close(): void {
    this.#listeners.clear();
    this.#stop();
    this.#isClosed = true;
    this.#awaited.tell(undefined);
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
    const least = pollInterval(this.#times, isWatched ? undefined : 0, pace);
    const doubt = doubtInterval(this.#times, pace);
    const interval = isFirstWatch ? 0 : this.#isInDoubt ? doubt : least;
    const silence = silenceLimit(this.#times, pace);
    for (const follower of this.#followers.values()) {
      follower.tend(now, interval, silence, this.#isInDoubt || this.#isLate(follower, now));
    }
    this.#dueAt = now + least;
    const next = this.#isInDoubt ? doubt : pollInterval(this.#times, sinceUse, pace);
    this.#setTimer(isStart ? Math.min(next, this.#times.start) : next);
    this.#agree(undefined);
  }

  /** Others have been ahead of it for a while, whatever newHeads told. */
  #isLate({ look }: HeadFollower, now: number): boolean {
    const head = this.#agreed;
    return head !== undefined && look !== undefined && look.number < head.number && now - head.at > this.#times.late;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#dueAt = -Infinity;
    this.#isInDoubt = false;
    for (const follower of this.#followers.values()) follower.stop();
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#round(performance.now());
    }, ms).unref();
  }

  readonly #heard = (follower: HeadFollower): void => {
    this.#agree(follower);
    follower.source.meters.lag(this.lagOf(follower.source));
  };

  /** @param speaker who has just been heard of, if anybody */
  #agree(speaker: HeadFollower | undefined): void {
    const followers = [...this.#followers.values()];
    const isStarting = performance.now() - this.#startedAt < this.#times.start;
    if (isStarting && followers.some((one) => one.isAwaited(this.#startedAt))) return;
    const heard = followers.filter(({ counts }) => counts);
    const looks = heard.flatMap(({ look }) => look ?? []);
    const agreed = agreedHead(looks, this.#agreed, this.pace.ms);
    const teller = heard.find(({ look }) => look === agreed);
    if (agreed === undefined || teller === undefined) return;
    const isBelow = this.#agreed !== undefined && agreed.number < this.#agreed.number;
    if (isBelow && speaker !== undefined && speaker.look !== undefined) speaker.timesBelow++;
    const deciding = heard.filter(({ look }) => look !== undefined && look.number <= agreed.number);
    const isDown = isBelow && deciding.every(({ timesBelow }) => timesBelow >= TIMES_BELOW);
    const isUnanimous = heard.every(({ look }) => look?.header?.hash === agreed.header?.hash);
    const isSure = isBelow ? isDown : isUnanimous;
    if (!isBelow || isDown) this.#accept(agreed, followers);
    else if (!this.#isInDoubt) {
      this.#isInDoubt = true;
      this.#setTimer(doubtInterval(this.#times, this.pace.ms));
    }
    if (agreed.header !== undefined) this.#chain.follow(agreed.header, teller.source, isSure, this.#listeners.size > 0);
  }

  #accept(agreed: Look, followers: readonly HeadFollower[]): void {
    this.#isInDoubt = false;
    for (const follower of followers) follower.timesBelow = 0;
    if (agreed.number !== this.#agreed?.number) {
      this.#history.moved(agreed);
      this.#meters.head(Number(agreed.number));
    }
    this.pace.saw(agreed);
    this.#agreed = agreed;
    if (agreed.gasLimit === 0n) this.#block = followers.find(({ hasGasLimit }) => hasGasLimit)?.look ?? agreed;
    else if (agreed.gasLimit !== undefined) this.#block = agreed;
  }

  #changed(change: ChainChange, isTold: boolean): void {
    const { head } = this;
    // A branch that is shorter than what it replaces.
    if (head !== undefined && change.removed.length > 0 && head.number < (this.#agreed?.number ?? 0n)) {
      const look = readLook(head.block, performance.now());
      if (look !== undefined) this.#accept(look, [...this.#followers.values()]);
    }
    if (isTold) for (const listener of this.#listeners) listener(change);
    this.#awaited.tell(head);
  }
}
