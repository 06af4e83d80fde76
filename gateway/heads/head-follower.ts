import type { HeadMeters } from '../metrics/head-metrics.ts';
import type { HeadTimes } from './head-times.ts';
import { readLook, type BlockLook, type Look } from './look.ts';

/** An upstream, as far as its head is followed. */
export interface HeadSource {
  readonly name: string;
  readonly health: { readonly isUp: boolean };
  /** As it said when it was last asked; it is asked before anything else. */
  readonly isOfOtherChain: boolean;
  readonly meters: HeadMeters;
  /**
   * Asks for ourselves, not for a caller.
   * @param params as JSON text
   * @throws Error where no result comes in the time that the upstream has
   */
  resultOf(method: string, params: string): Promise<unknown>;
  /**
   * Has the node tell of what is new, over its WebSocket.
   * @param params of eth_subscribe, as JSON text
   * @returns undefined where it has no WebSocket
   */
  subscribe(params: string, events: FeedEvents): Feed | undefined;
}

export interface FeedEvents {
  /** From now on it tells. */
  started(): void;
  told(result: unknown): void;
  /** Once, unless it was closed from here: it tells no more. */
  ended(): void;
}

export interface Feed {
  close(): void;
}

/** A rest after polls that failed, and after a WebSocket that did: doubled each time, up to the longest. */
const FIRST_REST_MS = 1_000;
const OTHER_CHAIN_REST_MS = 60_000;

/** Follows the head of one upstream: by newHeads where it has a WebSocket that tells, else by polls. */
export class HeadFollower {
  readonly source: HeadSource;
  /** The last one; undefined while nothing is known of its head. */
  look: Look | undefined;
  /** Looks in a row at which its head was below the network's. */
  timesBelow = 0;
  readonly #times: HeadTimes;
  readonly #onWord: (follower: HeadFollower) => void;
  #polling: Promise<BlockLook | undefined> | undefined;
  #polledAt = -Infinity;
  #failures = 0;
  #feed: Feed | undefined;
  #isTelling = false;
  #toldAt = -Infinity;
  #feedFailures = 0;
  #feedRestsUntil = -Infinity;

  /** @param onWord called after each look, and after each that failed */
  constructor(source: HeadSource, times: HeadTimes, onWord: (follower: HeadFollower) => void) {
    this.source = source;
    this.#times = times;
    this.#onWord = onWord;
  }

  /** Whether its word counts: it is there, is of the right chain, and has said something. */
  get counts(): boolean {
    return this.look !== undefined && this.#failures < 2 && !this.source.isOfOtherChain;
  }

  /** Whether its newest block has a usable gas limit. */
  get hasGasLimit(): boolean {
    return this.counts && (this.look?.gasLimit ?? 0n) > 0n;
  }

  /** Whether its first word since then may come any moment. */
  isAwaited(since: number): boolean {
    const isOld = this.look === undefined || this.look.at < since;
    return isOld && this.#polling !== undefined && this.#failures === 0;
  }

  /**
   * Polls where newHeads do not tell, or have not for a while, and opens a WebSocket where there is none.
   * @param isInDoubt its head is asked for whatever newHeads told
   */
  tend(now: number, intervalMs: number, silenceMs: number, isInDoubt: boolean): void {
    if (this.#feed === undefined && now >= this.#feedRestsUntil) this.#openFeed();
    const isSilent = now - this.#toldAt >= silenceMs;
    if (this.#isTelling && !isSilent && !isInDoubt && this.look !== undefined) return;
    // A call has just found out; the upstream rests from it, too.
    if (this.source.isOfOtherChain && this.#polledAt === -Infinity) this.#polledAt = now;
    // Timers come a little early at times.
    if (now - this.#polledAt < this.#restMs(intervalMs) * 0.9) return;
    const before = this.look;
    this.poll().then(
      (look) => {
        // It tells nothing, while there is a new block: polls go on in its place.
        const isWrong = this.#isTelling && isSilent && this.#toldAt < now && look?.number !== before?.number;
        if (isWrong && before !== undefined) this.#restFeed();
      },
      () => undefined, // counted; the next poll looks again
    );
  }

  /** One poll serves all who ask meanwhile. Undefined where no block comes. @throws UpstreamFailure */
  poll(): Promise<BlockLook | undefined> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  /** Its head is so at least, as it told a caller. */
  saw(number: bigint, at: number): void {
    if (this.look === undefined || number <= this.look.number) return;
    this.#take({ number, gasLimit: undefined, timestamp: undefined, header: undefined, at });
  }

  /** What was known grows old: the next look begins anew. */
  stop(): void {
    this.#closeFeed();
    this.look = undefined;
    this.timesBelow = 0;
    this.#failures = 0;
    this.#polledAt = -Infinity;
    this.#feedFailures = 0;
    this.#feedRestsUntil = -Infinity;
  }

  #restMs(intervalMs: number): number {
    if (this.source.isOfOtherChain) return OTHER_CHAIN_REST_MS;
    if (this.#failures === 0 && this.source.health.isUp) return intervalMs;
    return Math.max(intervalMs, restAfter(Math.max(this.#failures, 1), this.#times.restMax));
  }

  async #poll(): Promise<BlockLook | undefined> {
    const askedAt = performance.now();
    this.#polledAt = askedAt;
    try {
      const look = readLook(await this.source.resultOf('eth_getBlockByNumber', '["latest",false]'), performance.now());
      this.#failures = look === undefined ? this.#failures + 1 : 0;
      // What newHeads told meanwhile is newer.
      if (look !== undefined && (this.look === undefined || this.look.at <= askedAt)) this.#take(look);
      else this.#onWord(this);
      return look;
    } catch (error) {
      this.#failures++;
      if (this.source.isOfOtherChain) {
        this.look = undefined;
        this.#closeFeed();
      }
      this.#onWord(this);
      throw error;
    }
  }

  #take(look: Look): void {
    const { meters } = this.source;
    if (look.number !== this.look?.number) meters.moved(Number(look.number));
    this.look = look;
    this.#onWord(this);
  }

  #openFeed(): void {
    this.#isTelling = false;
    this.#feed = this.source.subscribe('["newHeads"]', {
      started: () => {
        this.#isTelling = true;
        this.#toldAt = performance.now();
        // Between our last poll and now a block may have come.
        this.poll().catch(() => undefined);
      },
      told: (result) => {
        const look = readLook(result, performance.now());
        if (look === undefined) return;
        this.#toldAt = look.at;
        this.#failures = 0;
        this.#feedFailures = 0;
        this.source.meters.told();
        this.#take(look);
      },
      ended: () => {
        this.#restFeed();
      },
    });
    if (this.#feed === undefined) this.#feedRestsUntil = Infinity;
  }

  #closeFeed(): void {
    this.#feed?.close();
    this.#feed = undefined;
    this.#isTelling = false;
  }

  #restFeed(): void {
    this.#closeFeed();
    this.#feedFailures++;
    this.#feedRestsUntil = performance.now() + restAfter(this.#feedFailures, this.#times.restMax);
  }
}

function restAfter(failures: number, mostMs: number): number {
  return Math.min(FIRST_REST_MS * 2 ** Math.min(failures - 1, 10), mostMs);
}
