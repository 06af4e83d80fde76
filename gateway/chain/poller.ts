import { clock, type Timer } from '../clock/clock.ts';
import { causeOf, type Log } from '../config/log.ts';
import type { NetworkMetrics, UpstreamSeries } from '../metrics/series.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import type { ChainEvent, ChainPeers, ServedEvent } from './chain-peers.ts';
import { Chain, type Absence, type Effect, type How, type ServedBlock } from './chain.ts';
import { fetchAncestors, fetchBranch, fetchHeader, missingAncestors, type HeaderSource } from './fetch-branch.ts';
import type { ChainChange } from './header-ring.ts';
import { parseBlock, type Block, type Header } from './header.ts';
import {
  backoffAfter,
  confirmationIntervalMs,
  defaultTimes,
  pollIntervalMs,
  silenceLimits,
  untilNextBlockMs,
  type PollTimes,
  type Silence,
} from './poll-times.ts';
import type { ChainView } from './view.ts';
import type { WitnessRule } from './witness-tracker.ts';

const OTHER_CHAIN_BACKOFF_MS = 60_000;
/** Blocks before the head that the upstreams do not return are not fetched again for this time. */
const ANCESTORS_BACKOFF_MS = 60_000;
/** A worker polls an upstream if the first one has not for this many times the interval. */
const OVERDUE_FACTOR = 3;
/** Number of the longest rounds for which the first worker polls as if it had watchers, after a message of one with them. */
const WATCHED_ROUNDS = 2;

/** An upstream whose blocks are followed. */
export interface PolledUpstream extends HeaderSource {
  readonly name: string;
  /** Upstreams of one group have one vote about the chain. */
  readonly group: string;
  readonly circuit: { readonly isClosed: boolean };
  /** Whether it is on another chain by the last check of its chain id, which precedes the first request. */
  readonly isOnOtherChain: boolean;
  /** Whether the upstream failed or returned an older head since its head was last polled: its node may have restarted. */
  isHeadUncertain: boolean;
  readonly metrics: UpstreamSeries;
  /** Checks the chain id again. @returns whether it is that of the network; false also without a response. Never rejects. */
  verifyChain(): Promise<boolean>;
  /**
   * Whether the upstream gets no calls, and the network file forbids polls until it does.
   * @param isNeeded a call needs its head: only if drained
   */
  isUnwatched(now: number, isNeeded?: boolean): boolean;
  /**
   * Subscribes at the upstream over its WebSocket.
   * @param params of eth_subscribe, as JSON text
   * @returns undefined if it has no WebSocket
   */
  subscribe(params: string, events: FeedEvents): Feed | undefined;
}

/** An upstream that each round probes, also if it is not polled. */
export interface Probed {
  /** Checks the chain id if due. */
  probeIfIdle(now: number): void;
}

export interface FeedEvents {
  /** The subscription is open. */
  started(): void;
  notified(result: unknown): void;
  /** Handles the end: called once when the subscription ends, unless Gatehouse closed it. */
  ended(): void;
}

export interface Feed {
  close(): void;
}

export interface PollerOptions {
  /** A development chain, whose blocks can be removed: lower heads are always followed. */
  readonly isDevelopment: boolean;
  readonly times?: Partial<PollTimes>;
  readonly log: Log;
  /** Pollers of the other workers; undefined: the gateway has one worker. */
  readonly peers?: ChainPeers | undefined;
}

type PolledBlock = Block & { readonly gasLimit: bigint };

/** The polls of one upstream, and its newHeads subscription. */
class Polls {
  /** The poll in progress. */
  polling: Promise<PolledBlock | undefined> | undefined;
  polledAt = -Infinity;
  /** The poll for which calls wait. */
  catchUp: Promise<void> | undefined;
  /** The time since which it is below the network's head; undefined: it was at the head when last checked. */
  behindSince: number | undefined;
  feed: Feed | undefined;
  notifiedAt = -Infinity;
  notifiedNumber: bigint | undefined;
  feedFailures = 0;
  feedRetryAt = -Infinity;
}

/**
 * Follows the blocks of one network: polls its upstreams and subscribes to their heads while the network is in use, gives the
 * chain what it sees, and does what follows. While there are watchers, missing blocks are fetched; if that fails, the chain
 * restarts and the change has `hasGap`.
 */
export class ChainPoller<U extends PolledUpstream = PolledUpstream> {
  readonly #chain: Chain<U>;
  readonly #times: PollTimes;
  readonly #log: Log;
  readonly #metrics: NetworkMetrics;
  readonly #peers: ChainPeers | undefined;
  readonly #polls = new Map<U, Polls>();
  #probed: readonly Probed[] = [];
  /** Whether they get changes at once, or are given the blocks later, by `delivered`. */
  readonly #watchers = new Map<(change: ChainChange) => void, boolean>();
  /** Functions of callers that wait for a change of the chain. */
  readonly #waiting = new Set<() => void>();
  /** Functions of callers that wait for the next poll or notification. */
  readonly #waitingForNews = new Set<() => void>();
  /** Blocks of a gap that is not yet filled, by hash. */
  readonly #fetched = new Map<string, Header>();
  #ancestorsRetryAt = -Infinity;
  #reportedHead: bigint | undefined;
  #timer: Timer | undefined;
  /** When polls began, or something last waited for the head. */
  #startedAt = -Infinity;
  /** End of the time for which calls for a tag wait for polls after these began again. */
  #firstPollsUntil = -Infinity;
  /** A call waits for the head until then. */
  #neededUntil = -Infinity;
  #usedAt = -Infinity;
  /** When another worker last sent a poll or notification. */
  #followedAt = -Infinity;
  /** Another worker has watchers until then, unless it sends that again. */
  #watchedElsewhereUntil = -Infinity;
  /** When the others were last notified of a use. */
  #notifiedUseAt = -Infinity;
  /** The last delivery that waits until its block is shared. */
  #delivery: Promise<void> | undefined;
  #nextRoundAt = -Infinity;
  /** When the timer ends. */
  #timerAt = Infinity;
  #isClosed = false;

  constructor(upstreams: readonly U[], metrics: NetworkMetrics, options: PollerOptions) {
    this.#times = { ...defaultTimes, ...options.times };
    this.#log = options.log;
    this.#metrics = metrics;
    this.#peers = options.peers;
    const { confirmMinMs, pauseMs, usedMaxMs } = this.#times;
    const { isDevelopment } = options;
    this.#chain = new Chain<U>({
      ...{ isDevelopment, minLowerMs: 2 * confirmMinMs, pauseMs, inUseMs: usedMaxMs },
      groupOf: ({ group }) => group,
      unixMsAt: (at) => at + clock.unixMs() - clock.now(),
    });
    this.replaceUpstreams(upstreams);
  }

  /** What is known of the network's blocks now. */
  get view(): ChainView<U> {
    return this.#chain.view;
  }

  /** Replaces the upstreams, best first. What is known of those that stay is retained. @param probed also those without polls */
  replaceUpstreams(upstreams: readonly U[], probed: readonly Probed[] = [], rule?: WitnessRule): void {
    this.#probed = probed;
    const previous = new Map(this.#polls);
    this.#polls.clear();
    for (const upstream of upstreams) this.#polls.set(upstream, previous.get(upstream) ?? new Polls());
    for (const [upstream, polls] of previous) if (!this.#polls.has(upstream)) this.#closeFeed(upstream, polls);
    this.#chain.replaceUpstreams(upstreams, rule);
    // Calls may wait only for those that were removed.
    this.#handle(this.#chain.passed(clock.now()));
  }

  /** A caller is served a block of this upstream. */
  served(upstream: U, block: ServedBlock, now: number, how: ServedHow = { by: 'response', sentAt: now }): void {
    this.#see(upstream, block, how, now);
  }

  /**
   * A caller is served an object with this hash, which is in the block or is the block. The other workers learn those of new
   * blocks before `whenShared` resolves.
   */
  servedHash(hash: unknown, block: ServedBlock, now: number): void {
    const isNew = this.#chain.servedHash(hash, block.hash, now);
    if (isNew && this.view.mayFollow(block.number)) this.#peers?.addServedHash(hash as string, block.hash as string);
  }

  /** A block is final: a head below it is that of another chain. */
  finalized(number: bigint): void {
    if (this.#chain.finalized(number)) this.#peers?.notify({ kind: 'final', number });
  }

  /** The upstreams have another block in place of a final one: they are on another chain than before. */
  replaced(): void {
    this.#chain.replaced();
  }

  /** An upstream returned a wrong result, so that earlier ones of it may be wrong, too. */
  distrusted(): void {
    this.#chain.distrusted();
    this.#peers?.notify({ kind: 'distrusted' });
  }

  /** A request changed the chain, which may be shorter now. */
  rewritten(): void {
    this.#chain.rewritten();
  }

  /** Marks the network as used, at each use: heads are followed for the next 3 minutes, at growing intervals. Cheap. */
  markUsed(now: number): void {
    this.#chain.used(now);
    this.#usedAt = now;
    if (now >= this.#nextRoundAt) this.#startRound(now);
  }

  /**
   * Adds a watcher. Changes are delivered in order; missing blocks are fetched first. The current head is not delivered.
   * @param listener must not throw
   * @param isDelivered callers get what the listener gets, at once
   * @returns removes the watcher
   */
  watch(listener: (change: ChainChange) => void, isDelivered = true): () => void {
    // A function of its own, because the same listener may be added twice.
    const watcher = listener.bind(undefined);
    const now = clock.now();
    this.#watchers.set(watcher, isDelivered);
    this.#updateWatched(now);
    this.#startRound(now, this.#watchers.size === 1 ? 'watcher' : undefined);
    return () => {
      if (this.#watchers.delete(watcher)) this.#updateWatched(clock.now());
    };
  }

  #updateWatched(now: number): void {
    this.#chain.watched(this.#watchers.size > 0, now, [...this.#watchers.values()].includes(true));
  }

  /** Callers are given the block with this number, of which watchers got the change before. */
  delivered(number: bigint): void {
    this.#chain.delivered(number, clock.now());
  }

  /**
   * The current head for a new watcher; the next change continues from it.
   * @returns undefined if no upstream returns the head within the timeout
   */
  async waitForHead(timeoutMs: number): Promise<Header | undefined> {
    if (this.#chain.isCurrent || (await this.waitForChange(timeoutMs))) return this.view.head;
    return undefined;
  }

  /** @returns whether the chain has changed within the timeout */
  waitForChange(timeoutMs: number): Promise<boolean> {
    return this.#waitIn(this.#waiting, timeoutMs);
  }

  /** @returns whether there was a poll or notification within the timeout */
  waitForNews(timeoutMs: number): Promise<boolean> {
    return this.#waitIn(this.#waitingForNews, timeoutMs);
  }

  /**
   * The current head for a call, which counts as a use: one that was seen as lately as while there are many calls. If it is
   * older, because polls are rare or have stopped, the upstreams are polled now. The first response that is not below the known
   * head suffices; if polls had stopped, those of all upstreams, within half a second.
   * @returns undefined if no upstream returns the head within the timeout
   */
  async currentHead(timeoutMs: number): Promise<Header | undefined> {
    const startedAt = clock.now();
    if (!this.#isHeadCurrent(startedAt)) this.#neededUntil = Math.max(this.#neededUntil, startedAt + timeoutMs);
    this.markUsed(startedAt);
    if (!this.#isHeadCurrent(startedAt) && startedAt - this.#startedAt >= this.#times.startMs)
      this.#startRound(startedAt, 'call');
    for (let now = startedAt; !this.#isHeadCurrent(now); now = clock.now())
      if (!(await this.#waitIn(this.#waitingForNews, startedAt + timeoutMs - now))) return undefined;
    return this.view.head;
  }

  /**
   * Resolves, for a call that compares upstreams, when the polls that began with `currentHead` have ended, or after 300 ms.
   * @returns undefined: none of them is in progress
   */
  whenPolled(): Promise<unknown> | undefined {
    const waits = this.#pending(clock.now()).flatMap((upstream) => {
      const polls = this.#polls.get(upstream);
      return polls?.polling === undefined ? [] : (polls.catchUp ??= this.#pollForCalls(upstream, polls));
    });
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  /** Whether the chain is followed without a pause, and polls or notifications of its head are not overdue. */
  #isHeadCurrent(now: number): boolean {
    return this.#chain.isCurrent && this.isRecent(this.view.seenAt, now);
  }

  /** Whether a head that was seen at this time was seen as lately as while there are many calls. */
  isRecent(seenAt: number, now: number): boolean {
    const { blockMs, upstreams } = this.view;
    const { startMs } = this.#times;
    let maxAgeMs = pollIntervalMs(this.#times, 0, blockMs) + startMs;
    for (const { isSubscribed } of upstreams.values())
      if (isSubscribed) maxAgeMs = Math.max(maxAgeMs, silenceLimits(this.#times, blockMs).pollMs + startMs);
    return now - seenAt <= maxAgeMs;
  }

  /** @returns whether those that wait are resolved within the timeout */
  #waitIn(waiting: Set<() => void>, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        clock.clearTimeout(timer);
        resolve(!this.#isClosed);
      };
      const timer = clock.setTimeout(() => {
        waiting.delete(end);
        resolve(false);
      }, timeoutMs);
      waiting.add(end);
    });
  }

  /**
   * Begins polls if they had stopped, for a call for a tag.
   * @returns resolves when the first polls of all upstreams have ended, or 500 ms after polls began; undefined: they have ended
   */
  whenStarted(now: number): Promise<void> | undefined {
    if (this.#timer === undefined) this.markUsed(now);
    return now < this.#firstPollsUntil && this.#chain.isAwaiting ? this.#firstPolls() : undefined;
  }

  async #firstPolls(): Promise<void> {
    const until = this.#firstPollsUntil;
    while (this.#chain.isAwaiting)
      if (!(await this.#waitIn(this.#waitingForNews, until - clock.now()))) {
        // Timers may fire a little early.
        this.#handle(this.#chain.passed(Math.max(until, clock.now())));
        return;
      }
  }

  /**
   * Polls an upstream that a call skips because it is below the head: at once if it was at the head before, or failed since
   * its last poll, else at growing intervals. Notifications make these polls unnecessary.
   * @returns resolves after a poll for which calls wait; undefined: they do not wait
   */
  catchUp(upstream: U, now: number): Promise<void> | undefined {
    const polls = this.#polls.get(upstream);
    if (polls === undefined) return undefined;
    const { catchUpMinMs } = this.#times;
    const sincePollMs = now - polls.polledAt;
    if (upstream.isHeadUncertain) {
      if (sincePollMs >= catchUpMinMs) polls.catchUp ??= this.#pollForCalls(upstream, polls);
    } else if (this.#isSubscribed(upstream)) return undefined;
    else if (polls.behindSince === undefined) polls.catchUp ??= this.#pollForCalls(upstream, polls);
    else if (sincePollMs >= Math.max(catchUpMinMs, polls.polledAt - polls.behindSince)) this.#startPoll(upstream);
    return polls.catchUp;
  }

  /**
   * Polls an upstream's head now; simultaneous calls share one poll. Undefined if it returns no block, or is not polled.
   * @throws UpstreamFailure
   */
  poll(upstream: U): Promise<PolledBlock | undefined> {
    const polls = this.#polls.get(upstream);
    if (polls === undefined) {
      upstream.isHeadUncertain = false; // its head is not followed
      return Promise.resolve(undefined);
    }
    polls.polling ??= this.#poll(upstream, polls).finally(() => {
      polls.polling = undefined;
    });
    return polls.polling;
  }

  /** Whether other workers serve the network too. */
  get isShared(): boolean {
    return this.#peers !== undefined;
  }

  /** @returns resolves when this worker knows all blocks that others have served before this call; undefined: it does */
  whenCurrent(): Promise<void> | undefined {
    return this.#peers?.whenCurrent();
  }

  /**
   * A block that was served must not be newer than what any worker would serve next.
   * @returns resolves when all other workers know the newest served blocks, or are not current; undefined: they know them
   */
  whenShared(): Promise<void> | undefined {
    return this.#peers?.whenServedKnown(this.#served);
  }

  /** What another worker sees of the same chain. */
  received(event: ChainEvent): void {
    const now = clock.now();
    const upstream = 'upstream' in event ? this.#upstreamNamed(event.upstream) : undefined;
    const polls = upstream && this.#polls.get(upstream);
    switch (event.kind) {
      case 'used':
        // Otherwise two workers would notify each other of a use without end.
        if (this.#isPolling) this.#markUsedElsewhere(event.isWatched, now);
        break;
      case 'served':
        if (upstream !== undefined) {
          const { latest: number, servedMsAgo } = event;
          const isChosen = (this.view.headOf(upstream)?.at ?? -Infinity) > now - servedMsAgo;
          this.#see(upstream, { number }, { by: 'response', sentAt: now, isChosen }, now);
        }
        this.#chain.servedElsewhere(event.latest, event.tags, now);
        for (const [hash, block] of event.hashes ?? []) this.#chain.servedHash(hash, block, now);
        break;
      case 'served-hashes':
        this.#chain.adopted(event.hashes, now);
        break;
      case 'seen': {
        if (upstream === undefined || polls === undefined) break;
        this.#followedAt = now;
        if (this.#timer === undefined) this.#startRound(now);
        const sentAt = now - event.sentMsAgo;
        if (event.by === 'notification') {
          // A reload may have added the upstream here after its subscription began.
          this.#chain.subscribed(upstream, true);
          Object.assign(polls, { notifiedAt: now, notifiedNumber: event.block.number });
        } else {
          upstream.isHeadUncertain = false;
          polls.polledAt = Math.max(polls.polledAt, sentAt);
        }
        this.#see(upstream, event.block, event.by === 'poll' ? { by: 'poll', sentAt } : { by: 'notification' }, now);
        break;
      }
      case 'gone':
        if (upstream === undefined || polls === undefined) break;
        polls.polledAt = now;
        this.#lose(upstream, event.why);
        break;
      case 'subscribed':
        if (upstream !== undefined) this.#chain.subscribed(upstream, event.isSubscribed);
        break;
      case 'final':
        this.#chain.finalized(event.number);
        break;
      case 'distrusted':
        this.#chain.distrusted();
        break;
      case 'doubtful':
        if (upstream !== undefined) this.#run(this.#verify(upstream));
    }
  }

  /** The events from which a new worker learns what is known. */
  get state(): readonly ChainEvent[] {
    const now = clock.now();
    const { upstreams } = this.view;
    const { final } = this.#chain;
    const events: ChainEvent[] = final === undefined ? [] : [{ kind: 'final', number: final }];
    for (const [{ name: upstream }, { head, isSubscribed }] of this.#timer === undefined ? [] : upstreams) {
      events.push({ kind: 'subscribed', upstream, isSubscribed });
      if (head !== undefined)
        events.push({ kind: 'seen', upstream, block: head, by: 'poll', sentMsAgo: now - head.at });
    }
    return [...events, this.#served, { kind: 'served-hashes', hashes: this.view.served.all(now) }];
  }

  get #served(): ServedEvent {
    const { newestServed: latest, tagged } = this.view;
    const tags = { safe: tagged.safe.number, finalized: tagged.finalized.number };
    const servedMsAgo = clock.now() - this.#chain.newestServedAt;
    return { kind: 'served', latest, upstream: this.#chain.newestServedFrom?.name, servedMsAgo, tags };
  }

  close(): void {
    this.#watchers.clear();
    this.#stop();
    this.#isClosed = true;
    resolveAll(this.#waiting);
    resolveAll(this.#waitingForNews);
  }

  // Rounds

  #markUsedElsewhere(isWatched: boolean, now: number): void {
    const isFirstWatch = isWatched && !this.#isWatched(now);
    if (isWatched) this.#watchedElsewhereUntil = now + WATCHED_ROUNDS * this.#times.usedMaxMs;
    this.markUsed(now);
    if (isFirstWatch) this.#startRound(now, 'watcher');
  }

  /** Whether this worker has watchers, or polls for another one that has. */
  #isWatched(now: number): boolean {
    return this.#watchers.size > 0 || (this.#isPolling && now < this.#watchedElsewhereUntil);
  }

  /**
   * Polls all upstreams that are due, and schedules the next round.
   * @param awaitedBy a call or the first watcher waits for the head: all are due, unless they failed or send notifications
   */
  #startRound(now: number, awaitedBy?: 'call' | 'watcher'): void {
    if (this.#isClosed) return;
    const sinceUseMs = this.#isWatched(now) ? undefined : now - this.#usedAt;
    const { idleAfterMs } = this.#times;
    const isFollowed = !this.#isPolling && now - this.#followedAt <= idleAfterMs;
    if (sinceUseMs !== undefined && sinceUseMs > idleAfterMs && !isFollowed) {
      this.#stop();
      return;
    }
    this.#notifyUse(now);
    const wasStopped = this.#timer === undefined;
    const isStart = wasStopped || awaitedBy !== undefined;
    if (isStart) this.#startedAt = now;
    if (wasStopped) this.#chain.resumed();
    const { isConfirming } = this.#chain;
    const { blockMs, pastHeads } = this.view;
    const minMs = pollIntervalMs(this.#times, sinceUseMs === undefined ? undefined : 0, blockMs);
    const confirmMs = confirmationIntervalMs(this.#times, blockMs);
    const roundMs = isConfirming ? confirmMs : pollIntervalMs(this.#times, sinceUseMs, blockMs);
    // Only in the worker that polls for all, with watchers, without a lower head to confirm, and if at least one upstream
    // sends no notifications.
    const isExpecting =
      this.#isPolling &&
      sinceUseMs === undefined &&
      !isConfirming &&
      [...this.#polls.keys()].some((upstream) => !this.#isSubscribed(upstream));
    const expectedMs = isExpecting ? untilNextBlockMs(this.#times, pastHeads, blockMs, now) : undefined;
    const busyMs = isConfirming ? confirmMs : Math.min(minMs, expectedMs ?? minMs);
    const ownMs = this.#isPolling ? busyMs : OVERDUE_FACTOR * roundMs;
    const intervalMs = awaitedBy === undefined ? ownMs : 0;
    const silence = silenceLimits(this.#times, blockMs);
    const untilNextMs = expectedMs === undefined ? roundMs : Math.min(expectedMs, this.#times.watchedMaxMs);
    let nextMs = isStart ? Math.min(untilNextMs, this.#times.firstPollsMs) : untilNextMs;
    for (const [upstream, polls] of this.#polls) {
      const isLate = isConfirming || this.view.hasBeenAbove(upstream, this.#times.lateMs, now);
      const dueMs = this.#pollIfDue(upstream, polls, now, intervalMs, silence, isLate) ?? nextMs;
      // An upstream that was polled between two rounds is due before the next one. It waits for that round if the network gets
      // no calls, or if it is at the head and the next head is expected later.
      const isAtHead = this.view.headOf(upstream)?.number === this.view.number;
      if (isConfirming || (roundMs <= minMs && (expectedMs === undefined || !isAtHead)))
        nextMs = Math.min(nextMs, dueMs);
    }
    const awaitedUntil = now + this.#times.firstPollsMs;
    if (wasStopped) this.#firstPollsUntil = awaitedUntil;
    // A call of a network whose heads are known delays them for no others.
    if (wasStopped || awaitedBy === 'watcher')
      this.#chain.waitFor(this.#pending(now), now < this.#firstPollsUntil ? this.#firstPollsUntil : awaitedUntil);
    if (this.#isPolling) for (const upstream of this.#probed) upstream.probeIfIdle(now);
    this.#nextRoundAt = now + minMs;
    // A worker that does not poll for all checks then whether the network is in use.
    this.#setTimer(this.#isPolling ? nextMs : Math.min(nextMs, idleAfterMs));
    this.#leaveOtherChains(now);
    this.#handle(this.#chain.passed(now));
  }

  /** Whether this worker polls for all. */
  get #isPolling(): boolean {
    return this.#peers?.isFirst !== false;
  }

  /** The first worker polls while any worker uses the network. */
  #notifyUse(now: number): void {
    if (this.#isPolling || (this.#watchers.size === 0 && this.#usedAt <= this.#notifiedUseAt)) return;
    this.#notifiedUseAt = now;
    this.#peers?.notify({ kind: 'used', isWatched: this.#watchers.size > 0 });
  }

  #upstreamNamed(name: string | undefined): U | undefined {
    for (const upstream of this.#polls.keys()) if (upstream.name === name) return upstream;
    return undefined;
  }

  /** The upstreams whose first head since the start is being polled, here or by the first worker. Notifications are as good. */
  #pending(now: number): U[] {
    const isPending = (upstream: U, { polling }: Polls): boolean => {
      if (!upstream.circuit.isClosed || this.#chain.failuresOf(upstream) > 0) return false;
      if (polling === undefined && (this.#isPolling || upstream.isOnOtherChain || upstream.isUnwatched(now)))
        return false;
      const head = this.view.headOf(upstream);
      return head === undefined || (head.at < this.#startedAt && !this.#isSubscribed(upstream));
    };
    return [...this.#polls].flatMap(([upstream, polls]) => (isPending(upstream, polls) ? upstream : []));
  }

  #stop(): void {
    clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Infinity;
    this.#nextRoundAt = -Infinity;
    for (const [upstream, polls] of this.#polls) this.#stopPolls(upstream, polls);
  }

  /** Stops polls of an upstream. Its head is forgotten, because it becomes outdated. */
  #stopPolls(upstream: U, polls: Polls): void {
    this.#closeFeed(upstream, polls);
    const { polling, catchUp } = polls;
    Object.assign(polls, new Polls(), { polling, catchUp });
    this.#handle(this.#chain.gone(upstream, 'not-followed', clock.now()));
  }

  #setTimer(ms: number): void {
    clock.clearTimeout(this.#timer);
    this.#timerAt = clock.now() + ms;
    this.#timer = clock
      .setTimeout(() => {
        this.#startRound(clock.now());
      }, ms)
      .unref();
  }

  // Polls of one upstream

  /** Polls an upstream that returned state at a block above the head: it may have that block. */
  mayHaveNewer(upstream: U, now: number): void {
    const polls = this.#polls.get(upstream);
    if (polls !== undefined && now - polls.polledAt >= this.#times.catchUpMinMs) this.#startPoll(upstream);
  }

  /**
   * Polls if newHeads notifications are missing or overdue, and subscribes if there is no subscription.
   * @param isUnconfirmed polls in spite of notifications
   * @returns time until its next poll is due; undefined: it is polled now
   */
  #pollIfDue(
    upstream: U,
    polls: Polls,
    now: number,
    intervalMs: number,
    silence: Silence,
    isUnconfirmed: boolean,
  ): number | undefined {
    const isNeeded = this.#isOnlyUnwatchedNeeded(now);
    if (upstream.isUnwatched(now, isNeeded)) {
      upstream.isHeadUncertain = true; // the first call that needs its head polls it
      this.#stopPolls(upstream, polls);
      return Infinity;
    }
    if (polls.feed === undefined && now >= polls.feedRetryAt && !upstream.isOnOtherChain && this.#isPolling)
      this.#openFeed(upstream, polls);
    const head = this.view.headOf(upstream);
    const silentMs = now - polls.notifiedAt;
    if (this.#isSubscribed(upstream) && head !== undefined) {
      const isAhead = head.number > (polls.notifiedNumber ?? head.number);
      if (silentMs >= silence.brokenMs && isAhead)
        this.#backOffFeed(upstream, polls); // polls replace it
      else if (silentMs < silence.pollMs && !isUnconfirmed) return silence.pollMs - silentMs;
    }
    // A call has found the wrong chain id, and opened the circuit.
    if (upstream.isOnOtherChain && polls.polledAt === -Infinity) polls.polledAt = now;
    // The first worker is notified of the use at the same time; it does not know of calls that wait.
    if (!this.#isPolling && !isNeeded && polls.polledAt === -Infinity) polls.polledAt = now;
    // 0.9, because timers may fire a little early.
    const dueMs = polls.polledAt + this.#pollIntervalMs(upstream, intervalMs) * 0.9 - now;
    if (dueMs > 0) return dueMs;
    this.#startPoll(upstream);
    return undefined;
  }

  /** Whether a call waits for the head, and only upstreams that get no calls can have it. */
  #isOnlyUnwatchedNeeded(now: number): boolean {
    if (now >= this.#neededUntil) return false;
    const upstreams = [...this.#polls.keys()];
    return upstreams.every((one) => one.isUnwatched(now) || one.isOnOtherChain || !one.circuit.isClosed);
  }

  #pollIntervalMs(upstream: U, intervalMs: number): number {
    if (upstream.isOnOtherChain) return OTHER_CHAIN_BACKOFF_MS;
    const failures = this.#chain.failuresOf(upstream);
    if (failures === 0 && upstream.circuit.isClosed) return intervalMs;
    return Math.max(intervalMs, backoffAfter(Math.max(failures, 1), this.#times.backoffMaxMs));
  }

  #startPoll(upstream: U): void {
    this.poll(upstream).catch(() => undefined); // counted in #poll; the next round polls again
  }

  async #poll(upstream: U, polls: Polls): Promise<PolledBlock | undefined> {
    const sentAt = clock.now();
    polls.polledAt = sentAt;
    let block: PolledBlock | undefined;
    try {
      block = parseBlock(await upstream.fetchResult(nodeMethods.blockByNumber, '["latest",false]', true));
      upstream.isHeadUncertain = false;
    } catch (error) {
      this.#loseForAll(upstream);
      throw error;
    }
    if (block === undefined) this.#loseForAll(upstream);
    else this.#seeForAll(upstream, block, { by: 'poll', sentAt }, clock.now());
    return block;
  }

  /** @returns resolves when the upstream was polled, or does not respond in time: then it counts as behind */
  #pollForCalls(upstream: U, polls: Polls): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clock.clearTimeout(timer);
        polls.catchUp = undefined;
        resolve();
      };
      const timer = clock.setTimeout(() => {
        polls.behindSince ??= clock.now();
        end();
      }, this.#times.catchUpWaitMs);
      this.poll(upstream).then(end, end);
    });
  }

  #openFeed(upstream: U, polls: Polls): void {
    this.#setSubscribed(upstream, false);
    polls.feed = upstream.subscribe('["newHeads"]', {
      started: () => {
        this.#setSubscribed(upstream, true);
        polls.notifiedAt = clock.now();
        polls.notifiedNumber = undefined;
        // There may be a block between the last poll and the start of the subscription.
        this.poll(upstream).then(
          (block) => (polls.notifiedNumber ??= block?.number),
          () => undefined, // counted in #poll
        );
      },
      notified: (result) => {
        const block = parseBlock(result);
        if (block === undefined) return;
        polls.notifiedAt = clock.now();
        polls.notifiedNumber = block.number;
        polls.feedFailures = 0;
        upstream.metrics.notified();
        this.#seeForAll(upstream, block, { by: 'notification' }, polls.notifiedAt);
      },
      ended: () => {
        upstream.isHeadUncertain = true;
        this.#backOffFeed(upstream, polls);
      },
    });
    if (polls.feed === undefined) polls.feedRetryAt = Infinity;
  }

  #closeFeed(upstream: U, polls: Polls): void {
    polls.feed?.close();
    polls.feed = undefined;
    this.#setSubscribed(upstream, false);
  }

  #setSubscribed(upstream: U, isSubscribed: boolean): void {
    this.#chain.subscribed(upstream, isSubscribed);
    if (this.#isPolling) this.#peers?.notify({ kind: 'subscribed', upstream: upstream.name, isSubscribed });
  }

  #backOffFeed(upstream: U, polls: Polls): void {
    this.#closeFeed(upstream, polls);
    polls.feedFailures++;
    polls.feedRetryAt = clock.now() + backoffAfter(polls.feedFailures, this.#times.backoffMaxMs);
  }

  #isSubscribed(upstream: U): boolean {
    return this.view.upstreams.get(upstream)?.isSubscribed === true;
  }

  // Events of the chain, and what follows from them

  /** Passes a block to the chain of this worker and to those of the others. */
  #seeForAll(upstream: U, block: Block, how: PolledHow, now: number): void {
    this.#see(upstream, block, how, now);
    if (this.#peers === undefined) return;
    const sentMsAgo = how.by === 'poll' ? now - how.sentAt : 0;
    this.#peers.notify({ kind: 'seen', upstream: upstream.name, block, by: how.by, sentMsAgo });
  }

  #loseForAll(upstream: U): void {
    this.#lose(upstream, 'no-response');
    this.#peers?.notify({ kind: 'gone', upstream: upstream.name, why: 'no-response' });
  }

  #see(upstream: U, block: Block & ServedBlock, how: How, now: number): void {
    const before = this.#chain.view;
    this.#leaveOtherChains(now);
    if (how.by === 'response' || !upstream.isOnOtherChain) this.#handle(this.#chain.seen(upstream, block, how, now));
    if (this.view === before) return;
    const number = this.view.headOf(upstream)?.number;
    if (number !== undefined && number !== before.headOf(upstream)?.number) upstream.metrics.moved(Number(number));
    if (how.by !== 'response' || number !== before.headOf(upstream)?.number) this.#recordPosition(upstream, now);
  }

  #lose(upstream: U, why: Absence): void {
    const now = clock.now();
    this.#leaveOtherChains(now);
    this.#handle(this.#chain.gone(upstream, why, now));
    this.#recordPosition(upstream, now);
  }

  /** Upstreams that were found to be on another chain, by calls too. They are polled again after a minute. */
  #leaveOtherChains(now: number): void {
    const left: U[] = [];
    for (const [upstream, polls] of this.#polls) {
      if (!upstream.isOnOtherChain || (polls.feed === undefined && this.view.headOf(upstream) === undefined)) continue;
      this.#closeFeed(upstream, polls);
      polls.polledAt = now;
      left.push(upstream);
    }
    if (left.length === 0) return;
    if (this.#isPolling) for (const { name: upstream } of left) this.#peers?.notify({ kind: 'doubtful', upstream });
    this.#fetched.clear();
    this.#handle(this.#chain.left(left, now));
  }

  #recordPosition(upstream: U, now: number): void {
    const polls = this.#polls.get(upstream);
    if (polls === undefined) return;
    polls.behindSince = this.view.isBehind(upstream) ? (polls.behindSince ?? now) : undefined;
    upstream.metrics.lag(this.view.lagOf(upstream, now));
    for (const one of this.#polls.keys()) one.metrics.onOtherBranch(this.view.markOf(one) !== undefined);
  }

  #handle(effects: readonly Effect<U>[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'changed':
          this.#fetched.clear();
          this.#deliver(effect.change);
          break;
        case 'fetch':
          this.#run(this.#fetch(effect));
          break;
        case 'fetch-ancestors':
          this.#run(this.#fetchAncestors(effect));
          break;
        case 'verify':
          this.#run(this.#verify(effect.upstream));
          break;
        case 'poll':
          if (effect.upstream.isHeadUncertain) break;
          effect.upstream.isHeadUncertain = true;
          this.#startPoll(effect.upstream);
          break;
        case 'late':
          if (this.#isPolling && this.#chain.failuresOf(effect.upstream) === 0 && effect.upstream.circuit.isClosed)
            this.mayHaveNewer(effect.upstream, clock.now());
          break;
        case 'compare':
          this.#run(this.#compare(effect));
          break;
        case 'confirm':
          // The round that is due before that is not delayed: the lower head may be confirmed, or left, by then.
          this.#setTimer(Math.min(confirmationIntervalMs(this.#times, this.view.blockMs), this.#timerAt - clock.now()));
      }
    }
    resolveAll(this.#waitingForNews);
    const { number, witnesses } = this.view;
    this.#metrics.witnessesMissing(witnesses.missingSince !== undefined);
    this.#peers?.forgetServedAbove(this.#served);
    if (number === this.#reportedHead) return;
    this.#reportedHead = number;
    if (number === undefined) return;
    this.#metrics.head(Number(number));
  }

  #deliver(change: ChainChange | undefined): void {
    if (change !== undefined) {
      const sharing = this.#watchers.size === 0 ? undefined : this.whenShared();
      if (sharing === undefined && this.#delivery === undefined) this.#deliverTo(this.#watchers.keys(), change);
      else this.#deliverAfter(sharing, change);
    }
    resolveAll(this.#waiting);
  }

  /** Delivers a change to its present watchers when the other workers know its block, after those before it. */
  #deliverAfter(sharing: Promise<void> | undefined, change: ChainChange): void {
    const watchers = [...this.#watchers.keys()];
    const delivery = Promise.all([this.#delivery, sharing]).then(() => {
      if (this.#delivery === delivery) this.#delivery = undefined;
      this.#deliverTo(
        watchers.filter((watcher) => this.#watchers.has(watcher)),
        change,
      );
    });
    this.#delivery = delivery;
  }

  #deliverTo(watchers: Iterable<(change: ChainChange) => void>, change: ChainChange): void {
    try {
      for (const listener of watchers) listener(change);
    } catch (error) {
      this.#chain.missed();
      this.#log.error(causeOf(error), 'following the chain failed');
    }
  }

  /** An error is a defect of Gatehouse, after which the chain restarts at the next head. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#log.error(causeOf(error), 'following the chain failed');
      this.#chain.missed();
      this.#handle(this.#chain.fetched('unknown', clock.now()));
    });
  }

  async #fetch({ head, from, headers, watchedUntil }: Extract<Effect<U>, { kind: 'fetch' }>): Promise<void> {
    const branch = await fetchBranch(head, headers, this.#sourcesFrom(from), this.#fetched, watchedUntil);
    this.#handle(this.#chain.fetched(branch, clock.now()));
  }

  async #fetchAncestors({ from, headers }: Extract<Effect<U>, { kind: 'fetch-ancestors' }>): Promise<void> {
    if (clock.now() < this.#ancestorsRetryAt) return;
    const ancestors = await fetchAncestors(headers, this.#sourcesFrom(from));
    if (ancestors.length < missingAncestors(headers)) this.#ancestorsRetryAt = clock.now() + ANCESTORS_BACKOFF_MS;
    this.#chain.precededBy(ancestors);
  }

  /** The upstreams to fetch blocks from: the one that reported the head first. */
  #sourcesFrom(reporter: U): U[] {
    const others = [...this.#polls.keys()].filter(
      (upstream) => upstream !== reporter && upstream.circuit.isClosed && !upstream.isOnOtherChain,
    );
    return [reporter, ...others];
  }

  async #compare({ upstream, number }: Extract<Effect<U>, { kind: 'compare' }>): Promise<void> {
    const header = await fetchHeader(nodeMethods.blockByNumber, `0x${number.toString(16)}`, [upstream]);
    if (header !== undefined) this.#handle(this.#chain.compared(upstream, header, clock.now()));
  }

  async #verify(upstream: U): Promise<void> {
    const isRight = await upstream.verifyChain();
    const now = clock.now();
    this.#leaveOtherChains(now);
    this.#handle(this.#chain.verified(upstream, isRight, now));
  }
}

function resolveAll(waiting: Set<() => void>): void {
  for (const resolve of waiting) resolve();
  waiting.clear();
}

/** What subscriptions need of it. */
export type WatchedChain = Pick<
  ChainPoller,
  'watch' | 'delivered' | 'waitForHead' | 'waitForChange' | 'waitForNews' | 'whenShared'
> & {
  readonly view: Pick<ChainView<unknown>, 'head' | 'newestServed' | 'headers' | 'witnesses' | 'blockMs'>;
};

type ServedHow = Extract<How, { readonly by: 'response' }>;
type PolledHow = Exclude<How, ServedHow>;
