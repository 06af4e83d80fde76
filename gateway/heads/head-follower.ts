import type { Feed, HeadSource } from './head-source.ts';
import type { Header } from './header.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { backoffAfter, type HeadTimes, type Silence } from './head-times.ts';
import { HeadAlternation, parsePolledHead, type PolledBlock, type PolledHead } from './polled-head.ts';

const OTHER_CHAIN_BACKOFF_MS = 60_000;

/** Follows the head of one upstream: by newHeads if its WebSocket delivers notifications, else by polls. */
export class HeadFollower {
  readonly source: HeadSource;
  /** The latest head; undefined while it is not known. */
  latest: PolledHead | undefined;
  /** The newest block with a header that it reported: `latest`, or an older one while only the number of `latest` is known. */
  latestHeader: Header | undefined;
  /** The time at which its newest block became known, by performance.now(). */
  advancedAt = -Infinity;
  /** Number of polls in a row at which the agreed head was below the network's head. */
  pollsBelow = 0;
  /** Its latest head did not continue the network's chain. */
  isForeign = false;
  readonly #alternation = new HeadAlternation();
  /** The time since which it is below the network's head; undefined: it was at the head when last checked. */
  #behindSince: number | undefined;
  #catchUp: Promise<void> | undefined;
  readonly #times: HeadTimes;
  readonly #onUpdate: (follower: HeadFollower) => void;
  #polling: Promise<PolledBlock | undefined> | undefined;
  #polledAt = -Infinity;
  #failures = 0;
  #feed: Feed | undefined;
  isSubscribed = false;
  #notifiedAt = -Infinity;
  #notifiedNumber: bigint | undefined;
  #feedFailures = 0;
  #feedRetryAt = -Infinity;

  /** @param onUpdate called after each poll, failed or not, and after each notification */
  constructor(source: HeadSource, times: HeadTimes, onUpdate: (follower: HeadFollower) => void) {
    this.source = source;
    this.#times = times;
    this.#onUpdate = onUpdate;
  }

  /** Whether its head counts: it is known, the upstream responds, and it is on the right chain. */
  get isUsable(): boolean {
    return this.latest !== undefined && this.#failures < 2 && !this.source.isOnOtherChain;
  }

  get hasGasLimit(): boolean {
    return this.isUsable && (this.latest?.gasLimit ?? 0n) > 0n;
  }

  /** Whether several nodes of different height share its URL, by its latest heads. */
  get isAlternating(): boolean {
    return this.#alternation.isRecent(performance.now());
  }

  /** Whether its first head since a time is being polled. */
  isPending(since: number): boolean {
    const isOld = this.latest === undefined || this.latest.at < since;
    return isOld && this.#polling !== undefined && this.#failures === 0;
  }

  /**
   * Polls if newHeads notifications are missing or overdue, and subscribes if there is no subscription.
   * @param isUnconfirmed polls in spite of notifications
   * @returns time until its next poll is due; undefined: it is polled now
   */
  update(now: number, intervalMs: number, silence: Silence, isUnconfirmed: boolean): number | undefined {
    if (this.source.isUnwatched(now)) {
      this.source.isHeadUncertain = true; // the first call that needs its head polls it
      this.stop();
      return Infinity;
    }
    if (this.#feed === undefined && now >= this.#feedRetryAt && !this.source.isOnOtherChain) this.#openFeed();
    const silentMs = now - this.#notifiedAt;
    if (silentMs >= silence.brokenMs && this.#isAheadOfFeed) this.#backOffFeed(); // polls replace the subscription
    if (this.isSubscribed && silentMs < silence.pollMs && !isUnconfirmed && this.latest)
      return silence.pollMs - silentMs;
    // A call has found the wrong chain id, and opened the circuit.
    if (this.source.isOnOtherChain && this.#polledAt === -Infinity) this.#polledAt = now;
    // 0.9, because timers may fire a little early.
    const dueMs = this.#polledAt + this.#pollIntervalMs(intervalMs) * 0.9 - now;
    if (dueMs > 0) return dueMs;
    this.poll().catch(() => undefined); // counted in #poll; the next round polls again
    return undefined;
  }

  /** Polls the head; simultaneous calls share one poll. Undefined if the result has no block. @throws UpstreamFailure */
  poll(): Promise<PolledBlock | undefined> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  /** Records whether its latest head is the network's head. Called after each update. */
  recordPosition(isBehind: boolean): void {
    this.#behindSince = isBehind ? (this.#behindSince ?? performance.now()) : undefined;
  }

  /**
   * Polls an upstream that a call skips because it is below the head: at once if it was at the head before, or failed since
   * its last poll, else at growing intervals. Notifications make these polls unnecessary.
   * @returns resolves after a poll for which calls wait; undefined: they do not wait
   */
  catchUp(now: number): Promise<void> | undefined {
    if (this.source.isHeadUncertain) {
      if (now - this.#polledAt >= this.#times.catchUpMinMs) this.#catchUp ??= this.#awaitPoll();
      return this.#catchUp;
    }
    if (this.isSubscribed) return undefined;
    if (this.#behindSince === undefined) this.#catchUp ??= this.#awaitPoll();
    else if (now - this.#polledAt >= Math.max(this.#times.catchUpMinMs, this.#polledAt - this.#behindSince))
      this.poll().catch(() => undefined); // counted in #poll
    return this.#catchUp;
  }

  /** Raises the head to a block number that the upstream returned to a caller. */
  observe(number: bigint, at: number): void {
    if (this.latest === undefined || number <= this.latest.number) return;
    this.#accept({ number, gasLimit: undefined, timestamp: undefined, header: undefined, at });
  }

  /** Whether a block that it returned for `latest` shows that its head is lower than known before it was asked. */
  isContradictedBy(number: bigint, sentAt: number): boolean {
    return this.latest !== undefined && number < this.latest.number && this.latest.at < sentAt;
  }

  /** Its head is of a replaced branch: until the next one is known, it counts as having this block. */
  rewindTo(number: bigint): void {
    if (this.latest !== undefined) this.latest = { ...this.latest, number, header: undefined };
  }

  /** Its heads are those of another chain. It is polled again after a minute. */
  leaveChain(): void {
    this.#closeFeed();
    this.latest = undefined;
    this.latestHeader = undefined;
    this.isForeign = false;
    this.#polledAt = performance.now();
  }

  /** Stops following, and forgets the head, because it becomes outdated. */
  stop(): void {
    this.#closeFeed();
    this.latest = undefined;
    this.latestHeader = undefined;
    this.pollsBelow = 0;
    this.#behindSince = undefined;
    this.#failures = 0;
    this.#polledAt = -Infinity;
    this.#feedFailures = 0;
    this.#feedRetryAt = -Infinity;
  }

  /** Whether it has a block newer than the last notification. */
  get #isAheadOfFeed(): boolean {
    const { latest } = this;
    return this.isSubscribed && latest !== undefined && latest.number > (this.#notifiedNumber ?? latest.number);
  }

  #pollIntervalMs(intervalMs: number): number {
    if (this.source.isOnOtherChain) return OTHER_CHAIN_BACKOFF_MS;
    if (this.#failures === 0 && this.source.circuit.isClosed) return intervalMs;
    return Math.max(intervalMs, backoffAfter(Math.max(this.#failures, 1), this.#times.backoffMaxMs));
  }

  #awaitPoll(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#catchUp = undefined;
        resolve();
      };
      const timer = setTimeout(() => {
        this.recordPosition(true);
        end();
      }, this.#times.catchUpWaitMs);
      this.poll().then(end, end);
    });
  }

  async #poll(): Promise<PolledBlock | undefined> {
    const sentAt = performance.now();
    this.#polledAt = sentAt;
    try {
      const polled = parsePolledHead(
        await this.source.fetchResult(nodeMethods.blockByNumber, '["latest",false]'),
        performance.now(),
      );
      this.#failures = polled === undefined ? this.#failures + 1 : 0;
      this.source.isHeadUncertain = false;
      if (polled !== undefined && !this.#isNewerThan(polled, sentAt)) this.#accept(polled);
      else {
        if (polled?.header !== undefined && this.latest?.header === undefined) this.latestHeader = polled.header;
        this.#onUpdate(this);
      }
      return polled;
    } catch (error) {
      this.#failures++;
      this.#onUpdate(this);
      throw error;
    }
  }

  /** Whether a notification, or a response to a caller, that came during a poll is newer than the polled block. */
  #isNewerThan(polled: PolledBlock, sentAt: number): boolean {
    const { latest } = this;
    if (latest === undefined || latest.at <= sentAt) return false;
    return polled.number < latest.number || (polled.number === latest.number && latest.header !== undefined);
  }

  #accept(polled: PolledHead): void {
    const { metrics } = this.source;
    if (polled.header !== undefined) this.latestHeader = polled.header;
    if (polled.number !== this.latest?.number) {
      metrics.moved(Number(polled.number));
      this.advancedAt = polled.at;
    }
    this.#alternation.observe(polled, this.latest);
    this.latest = polled;
    this.#onUpdate(this);
  }

  #openFeed(): void {
    this.isSubscribed = false;
    this.#feed = this.source.subscribe('["newHeads"]', {
      started: () => {
        this.isSubscribed = true;
        this.#notifiedAt = performance.now();
        this.#notifiedNumber = undefined;
        // There may be a block between the last poll and the start of the subscription.
        this.poll().then(
          (polled) => (this.#notifiedNumber ??= polled?.number),
          () => undefined, // counted in #poll
        );
      },
      notified: (result) => {
        const polled = parsePolledHead(result, performance.now());
        if (polled === undefined) return;
        this.#notifiedAt = polled.at;
        this.#notifiedNumber = polled.number;
        this.#failures = 0;
        this.#feedFailures = 0;
        this.source.metrics.notified();
        this.#accept(polled);
      },
      ended: () => {
        this.source.isHeadUncertain = true;
        this.#backOffFeed();
      },
    });
    if (this.#feed === undefined) this.#feedRetryAt = Infinity;
  }

  #closeFeed(): void {
    this.#feed?.close();
    this.#feed = undefined;
    this.isSubscribed = false;
  }

  #backOffFeed(): void {
    this.#closeFeed();
    this.#feedFailures++;
    this.#feedRetryAt = performance.now() + backoffAfter(this.#feedFailures, this.#times.backoffMaxMs);
  }
}
