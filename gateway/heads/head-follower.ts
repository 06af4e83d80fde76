import type { UpstreamHeadMetrics } from '../metrics/head-metrics.ts';
import type { HeadTimes } from './head-times.ts';
import { parsePolledHead, type PolledBlock, type PolledHead } from './head-poll.ts';

/** An upstream, as far as its head is followed. */
export interface HeadSource {
  readonly name: string;
  readonly circuit: { readonly isClosed: boolean };
  /** As it said when it was last asked; it is asked before anything else. */
  readonly isOnOtherChain: boolean;
  readonly metrics: UpstreamHeadMetrics;
  /**
   * Asks for ourselves, not for a caller.
   * @param params as JSON text
   * @throws Error where no result comes in the time that the upstream has
   */
  fetchResult(method: string, params: string): Promise<unknown>;
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
  notified(result: unknown): void;
  /** Once, unless it was closed from here: it tells no more. */
  ended(): void;
}

export interface Feed {
  close(): void;
}

/** A rest after polls that failed, and after a WebSocket that did: doubled each time, up to the longest. */
const FIRST_BACKOFF_MS = 1_000;
const OTHER_CHAIN_BACKOFF_MS = 60_000;

/** Follows the head of one upstream: by newHeads where it has a WebSocket that tells, else by polls. */
export class HeadFollower {
  readonly source: HeadSource;
  /** The last one; undefined while nothing is known of its head. */
  latest: PolledHead | undefined;
  /** Looks in a row at which its head was below the network's. */
  pollsBelow = 0;
  readonly #times: HeadTimes;
  readonly #onUpdate: (follower: HeadFollower) => void;
  #polling: Promise<PolledBlock | undefined> | undefined;
  #polledAt = -Infinity;
  #failures = 0;
  #feed: Feed | undefined;
  #isSubscribed = false;
  #notifiedAt = -Infinity;
  #feedFailures = 0;
  #feedRetryAt = -Infinity;

  /** @param onUpdate called after each look, and after each that failed */
  constructor(source: HeadSource, times: HeadTimes, onUpdate: (follower: HeadFollower) => void) {
    this.source = source;
    this.#times = times;
    this.#onUpdate = onUpdate;
  }

  /** Whether its word counts: it is there, is of the right chain, and has said something. */
  get isUsable(): boolean {
    return this.latest !== undefined && this.#failures < 2 && !this.source.isOnOtherChain;
  }

  /** Whether its newest block has a usable gas limit. */
  get hasGasLimit(): boolean {
    return this.isUsable && (this.latest?.gasLimit ?? 0n) > 0n;
  }

  /** Whether its first word since then may come any moment. */
  isPending(since: number): boolean {
    const isOld = this.latest === undefined || this.latest.at < since;
    return isOld && this.#polling !== undefined && this.#failures === 0;
  }

  /**
   * Polls where newHeads do not tell, or have not for a while, and opens a WebSocket where there is none.
   * @param isUnconfirmed its head is asked for whatever newHeads told
   */
  update(now: number, intervalMs: number, silenceMs: number, isUnconfirmed: boolean): void {
    if (this.#feed === undefined && now >= this.#feedRetryAt) this.#openFeed();
    const isSilent = now - this.#notifiedAt >= silenceMs;
    if (this.#isSubscribed && !isSilent && !isUnconfirmed && this.latest !== undefined) return;
    // A call has just found out; the upstream rests from it, too.
    if (this.source.isOnOtherChain && this.#polledAt === -Infinity) this.#polledAt = now;
    // Timers come a little early at times.
    if (now - this.#polledAt < this.#pollIntervalMs(intervalMs) * 0.9) return;
    const previous = this.latest;
    this.poll().then(
      (polled) => {
        // It tells nothing, while there is a new block: polls go on in its place.
        const isFeedBroken =
          this.#isSubscribed && isSilent && this.#notifiedAt < now && polled?.number !== previous?.number;
        if (isFeedBroken && previous !== undefined) this.#backOffFeed();
      },
      () => undefined, // counted; the next poll looks again
    );
  }

  /** One poll serves all who ask meanwhile. Undefined where no block comes. @throws UpstreamFailure */
  poll(): Promise<PolledBlock | undefined> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  /** Its head is so at least, as it told a caller. */
  observe(number: bigint, at: number): void {
    if (this.latest === undefined || number <= this.latest.number) return;
    this.#accept({ number, gasLimit: undefined, timestamp: undefined, header: undefined, at });
  }

  /** What was known grows old: the next look begins anew. */
  stop(): void {
    this.#closeFeed();
    this.latest = undefined;
    this.pollsBelow = 0;
    this.#failures = 0;
    this.#polledAt = -Infinity;
    this.#feedFailures = 0;
    this.#feedRetryAt = -Infinity;
  }

  #pollIntervalMs(intervalMs: number): number {
    if (this.source.isOnOtherChain) return OTHER_CHAIN_BACKOFF_MS;
    if (this.#failures === 0 && this.source.circuit.isClosed) return intervalMs;
    return Math.max(intervalMs, backoffAfter(Math.max(this.#failures, 1), this.#times.backoffMax));
  }

  async #poll(): Promise<PolledBlock | undefined> {
    const sentAt = performance.now();
    this.#polledAt = sentAt;
    try {
      const polled = parsePolledHead(
        await this.source.fetchResult('eth_getBlockByNumber', '["latest",false]'),
        performance.now(),
      );
      this.#failures = polled === undefined ? this.#failures + 1 : 0;
      // What newHeads told meanwhile is newer.
      if (polled !== undefined && (this.latest === undefined || this.latest.at <= sentAt)) this.#accept(polled);
      else this.#onUpdate(this);
      return polled;
    } catch (error) {
      this.#failures++;
      if (this.source.isOnOtherChain) {
        this.latest = undefined;
        this.#closeFeed();
      }
      this.#onUpdate(this);
      throw error;
    }
  }

  #accept(polled: PolledHead): void {
    const { metrics } = this.source;
    if (polled.number !== this.latest?.number) metrics.moved(Number(polled.number));
    this.latest = polled;
    this.#onUpdate(this);
  }

  #openFeed(): void {
    this.#isSubscribed = false;
    this.#feed = this.source.subscribe('["newHeads"]', {
      started: () => {
        this.#isSubscribed = true;
        this.#notifiedAt = performance.now();
        // Between our last poll and now a block may have come.
        this.poll().catch(() => undefined);
      },
      notified: (result) => {
        const polled = parsePolledHead(result, performance.now());
        if (polled === undefined) return;
        this.#notifiedAt = polled.at;
        this.#failures = 0;
        this.#feedFailures = 0;
        this.source.metrics.notified();
        this.#accept(polled);
      },
      ended: () => {
        this.#backOffFeed();
      },
    });
    if (this.#feed === undefined) this.#feedRetryAt = Infinity;
  }

  #closeFeed(): void {
    this.#feed?.close();
    this.#feed = undefined;
    this.#isSubscribed = false;
  }

  #backOffFeed(): void {
    this.#closeFeed();
    this.#feedFailures++;
    this.#feedRetryAt = performance.now() + backoffAfter(this.#feedFailures, this.#times.backoffMax);
  }
}

function backoffAfter(failures: number, maxMs: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 10), maxMs);
}
