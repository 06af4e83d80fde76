import { BlockTimes } from './block-times.ts';
import { BranchMarks } from './branch-marks.ts';
import { FollowedChain, type Branch, type Move, type Step } from './followed-chain.ts';
import type { ChainChange, Headers } from './header-ring.ts';
import { parseBlock, type Block, type Header, type SeenHead } from './header.ts';
import { NewestServed } from './newest-served.ts';
import { groupsWith, highestPlausible, selectHead, type Selection } from './select-head.ts';
import { ServedHashes } from './served-hashes.ts';
import { ServedTags, type FinalTag } from './served-tags.ts';
import { isAlternating, UpstreamBlocks, type UpstreamReport } from './upstream-blocks.ts';
import { ChainView } from './view.ts';
import { WitnessTracker, type WitnessRule } from './witness-tracker.ts';

/** An upstream is hardly this many blocks behind: the chain starts anew. */
const MAX_LAGGING_BLOCKS = 512n;

/** A lower head is confirmed after this many polls of each upstream at or below it. */
const CONFIRMING_POLLS = 3;
/** The same if several nodes share, or may share, the URL: with two, 9 polls in a row reach one in 256 cases. */
const CONFIRMING_POLLS_ALTERNATING = 9;

/** An upstream that is ahead of the others for this time is asked for its block at their height: they have been polled since. */
const AHEAD_MS = 2_000;

/** A block of which a caller is served an object. */
export interface ServedBlock {
  readonly number: bigint;
  /** Hash in lower case; undefined: not known. */
  readonly hash?: string | undefined;
}

/** How a block became known. */
export type How =
  | { readonly by: 'notification' }
  | { readonly by: 'poll'; readonly sentAt: number }
  /**
   * A caller is served the block, or an object in it. `isLatest`: for `latest`. `tag`: for this one. `isChosen`: the upstream may
   * not have it. The gateway chose the number, or another worker served it before the last poll.
   */
  | {
      readonly by: 'response';
      readonly sentAt: number;
      readonly isLatest?: boolean;
      readonly isChosen?: boolean;
      readonly tag?: FinalTag | undefined;
    };

/** Why what is known of an upstream does not count any more. */
export type Absence = 'no-response' | 'not-followed';

/** What follows from an event, for the poller to do. */
export type Effect<U> =
  | Exclude<Step<U>, { readonly kind: 'changed' }>
  /** The chain has changed, or is known again. Watchers get the change; undefined: they continue from the head. */
  | { readonly kind: 'changed'; readonly change: ChainChange | undefined }
  /** The first watcher's chain, or one that restarts, has few blocks: fetch those before, and call `precededBy`. */
  | { readonly kind: 'fetch-ancestors'; readonly from: U; readonly headers: Headers }
  /** Poll the upstream: its head may have been replaced. */
  | { readonly kind: 'poll'; readonly upstream: U }
  /** Poll the upstream: others have newer heads, which are not accepted before it has them too. */
  | { readonly kind: 'late'; readonly upstream: U }
  /** The upstream stays ahead of all others: fetch its block of this number, and call `compared`. */
  | { readonly kind: 'compare'; readonly upstream: U; readonly number: bigint }
  /** Poll all upstreams, which are below the head, to confirm it. */
  | { readonly kind: 'confirm' };

export interface ChainOptions<U> {
  /** Blocks can be removed: confirmed lower heads are always followed. */
  readonly isDevelopment: boolean;
  /** Minimum time until a lower head is confirmed on other chains, because calls may poll often. */
  readonly minLowerMs: number;
  /** Time without a use and a poll after which more blocks than are followed may have been replaced. */
  readonly pauseMs: number;
  /** The network is in use for this time after a call. */
  readonly inUseMs: number;
  groupOf(upstream: U): string;
  /** Unix time of an event in ms; undefined: block timestamps have no relation to it. */
  readonly unixMsAt?: (at: number) => number;
}

let epochs = 0;

/**
 * The blocks of one network, by what its upstreams report: `seen` and `gone` are the events, `view` is what follows from all
 * of them. It has no clock, and sends nothing: each event has its time, and returns what the poller does next.
 */
export class Chain<U> {
  readonly #options: ChainOptions<U>;
  /** Upstreams in order of preference. */
  readonly #upstreams = new Map<U, UpstreamBlocks<U>>();
  #effects: Effect<U>[] = [];
  #view: ChainView<U> | undefined;
  #epoch = ++epochs;
  #unbrokenSince = this.#epoch;
  #marks = 0;
  #usedAt = -Infinity;
  /** Time of the latest poll or notification, also of a lower head. */
  #seenAt = -Infinity;
  #isWatched = false;
  /** Watchers get each change at once. Others are given its blocks later, or never. */
  #isDelivered = false;
  /** Upstreams after whose polls the head is selected at the start, or at the time below. */
  readonly #awaited = new Set<U>();
  #awaitedUntil = -Infinity;

  // The head of the network
  #network: SeenHead | undefined;
  #isDevelopment: boolean;
  readonly #times = new BlockTimes();
  readonly #served = new NewestServed<U>();
  readonly #hashes = new ServedHashes();
  readonly #tags = new ServedTags<U>();
  /** The newest block with a usable gas limit. */
  #gasBlock: SeenHead | undefined;
  #final: bigint | undefined;
  /** The polls below the head are not yet enough to confirm a lower head. */
  #isConfirming = false;
  /** The time since which all usable upstreams are below the head. */
  #lowerSince: number | undefined;
  /** The chain changed to a lower branch, of which the head may be a block, too. */
  #mayBeReplaced = false;
  /** The upstream of whose other branch a caller was served a block, and when. */
  #otherBranch: { readonly upstream: U; readonly at: number } | undefined;

  /** Groups have different blocks from this number on, and no branch has a majority. */
  #dispute: { readonly number: bigint; readonly at: number } | undefined;

  readonly #witnesses = new WitnessTracker<U>();
  readonly #followed = new FollowedChain<U>();

  constructor(options: ChainOptions<U>) {
    this.#options = options;
    this.#isDevelopment = options.isDevelopment;
  }

  get view(): ChainView<U> {
    return (this.#view ??= new ChainView<U>({
      epoch: this.#epoch,
      unbrokenSince: this.#unbrokenSince,
      marks: this.#marks,
      branch: this.#otherBranch === undefined ? 'known' : 'uncertain',
      number: this.#network?.number,
      headers: this.#followed.headers,
      newestServed: this.#served.number,
      tagged: this.#tags.blocks,
      served: this.#hashes,
      seenAt: this.#seenAt,
      blockMs: this.#times.blockMs,
      pastHeads: this.#times.heads,
      gasBlock: this.#gasBlock,
      dispute: this.#dispute,
      witnesses: this.#witnesses.known,
      upstreams: new Map([...this.#upstreams].map(([upstream, known]) => [upstream, known.snapshot()])),
    }));
  }

  /** The polls below the head are not yet enough to confirm a lower head. */
  get isConfirming(): boolean {
    return this.#isConfirming;
  }

  /** The head is not selected yet: the first polls of all upstreams have not ended. */
  get isAwaiting(): boolean {
    return this.#awaited.size > 0;
  }

  /** The chain is followed without a pause. */
  get isCurrent(): boolean {
    return this.#followed.isCurrent;
  }

  /** The upstream that returned the newest served block; undefined: it was the network's head. */
  get newestServedFrom(): U | undefined {
    return this.#served.source;
  }

  /** Time at which the newest served block was served. */
  get newestServedAt(): number {
    return this.#served.recordedAt;
  }

  /** The number of the newest block known to be final. */
  get final(): bigint | undefined {
    return this.#final;
  }

  /** Number of failed polls of the upstream in a row. */
  failuresOf(upstream: U): number {
    return this.#upstreams.get(upstream)?.failures ?? 0;
  }

  // Events

  /** Follows these upstreams, best first, instead of those before. What is known of the others is forgotten. */
  replaceUpstreams(upstreams: readonly U[], rule?: WitnessRule): void {
    const previous = new Map(this.#upstreams);
    this.#upstreams.clear();
    for (const upstream of upstreams)
      this.#upstreams.set(upstream, previous.get(upstream) ?? new UpstreamBlocks(upstream));
    for (const upstream of this.#awaited) if (!this.#upstreams.has(upstream)) this.#awaited.delete(upstream);
    const groups = new Set(upstreams.map((upstream) => this.#options.groupOf(upstream))).size;
    this.#witnesses.replaceRule(rule, groups);
    this.#tags.retain(this.#upstreams);
    this.#view = undefined;
  }

  /** An upstream has a block. Of a poll without a block: `gone`. */
  seen(upstream: U, block: Block & ServedBlock, how: How, at: number): readonly Effect<U>[] {
    const known = this.#upstreams.get(upstream);
    if (how.by === 'response') this.#serve(upstream, known, block, how, at);
    else if (known !== undefined) {
      known.failures = 0;
      known.isSuspected = false;
      known.isBelowFinal = false;
      this.#awaited.delete(upstream);
      if (how.by === 'notification' || !known.isNewerThan(block, how.sentAt)) known.set(block, at);
      // A notification, or a response to a caller, that came during the poll is newer.
      else if (known.head?.header === undefined) known.header = block.header ?? known.header;
      this.#update(known, at);
    }
    return this.#takeEffects();
  }

  /** What is known of an upstream does not count: after two polls without a block, or at once. */
  gone(upstream: U, why: Absence, at: number): readonly Effect<U>[] {
    const known = this.#upstreams.get(upstream);
    if (known === undefined) return this.#takeEffects();
    this.#awaited.delete(upstream);
    if (why === 'no-response') {
      known.failures++;
      this.#update(known, at);
    } else {
      known.forget();
      known.failures = 0;
      known.pollsBelow = 0;
      this.#witnesses.unfollowed();
      this.#view = undefined;
    }
    return this.#takeEffects();
  }

  /** Excludes upstreams on another chain: what is known only from them does not count. */
  left(upstreams: readonly U[], at: number): readonly Effect<U>[] {
    const left = upstreams.flatMap((upstream) => this.#upstreams.get(upstream) ?? []);
    const numbers = left.flatMap(({ head, header }) => head?.number ?? header?.number ?? []);
    for (const known of left) {
      known.forget();
      known.marks = new BranchMarks();
      this.#awaited.delete(known.upstream);
    }
    this.#leave(upstreams, numbers, at);
    this.#view = undefined;
    this.#decide(undefined, at);
    return this.#takeEffects();
  }

  /** Notifications keep the head of the upstream up to date, or do not any more. */
  subscribed(upstream: U, isSubscribed: boolean): void {
    const known = this.#upstreams.get(upstream);
    if (known === undefined || known.isSubscribed === isSubscribed) return;
    known.isSubscribed = isSubscribed;
    this.#view = undefined;
  }

  /** Another worker serves these blocks: `latest`, if no event `seen` has it, and those of tags. */
  servedElsewhere(latest: bigint, tags: Readonly<Record<FinalTag, bigint>>, at: number): void {
    this.#recordServed(latest, undefined, at, false);
    this.#tags.raise(tags);
    this.#view = undefined;
  }

  /** Callers are served the object, of a block or in it. @returns whether the other workers may have forgotten it */
  servedHash(hash: unknown, blockHash: unknown, at: number): boolean {
    return this.#hashes.add(hash, blockHash, at);
  }

  /** Hashes that another worker knew when this one started. */
  adopted(hashes: ReadonlyMap<string, string>, at: number): void {
    this.#hashes.adopt(hashes, at);
  }

  /** A caller uses the network. Cheap: it is called for each call. */
  used(at: number): void {
    if (at - Math.max(this.#usedAt, this.#seenAt) > this.#options.pauseMs) this.#break();
    this.#usedAt = at;
  }

  /** Polls begin again: blocks may have been replaced meanwhile. */
  resumed(): void {
    this.#break();
    this.#times.pause();
    this.#dispute = undefined;
    this.#witnesses.forget();
    this.#isConfirming = false;
    this.#followed.isCurrent = false;
  }

  /** The head is selected when these upstreams were polled, or at this time. */
  waitFor(upstreams: readonly U[], until: number): void {
    this.#awaited.clear();
    for (const upstream of upstreams) this.#awaited.add(upstream);
    this.#awaitedUntil = until;
  }

  /**
   * Whether the chain has watchers. Changes are delivered to watchers, from the next head on for the first one.
   * @param isDelivered some of them get changes at once
   */
  watched(isWatched: boolean, at: number, isDelivered = isWatched): void {
    if (isWatched && !this.#isWatched) this.#followed.isCurrent = false;
    this.#isWatched = isWatched;
    this.#isDelivered = isDelivered;
    this.#recordDelivered(at);
  }

  /** Watchers that do not get changes at once are given the block with this number. */
  delivered(number: bigint, at: number): void {
    this.#recordServed(number, undefined, at, false);
  }

  /** A watcher did not get the last change. */
  missed(): void {
    this.#followed.hasMissed = true;
  }

  /** Time has passed. */
  passed(at: number): readonly Effect<U>[] {
    this.#decide(undefined, at);
    return this.#takeEffects();
  }

  /** A block is final: a head below it is that of another chain. @returns false: this or a newer one is known */
  finalized(number: bigint): boolean {
    if (this.#final !== undefined && number <= this.#final) return false;
    this.#final = number;
    return true;
  }

  /** The upstreams have another block in place of a final one. */
  replaced(): void {
    this.#changeEpoch();
  }

  /** An upstream returned a wrong result, so that earlier ones of it may be wrong, too. */
  distrusted(): void {
    this.#marks++;
    this.#changeEpoch();
  }

  /** A request of a development tool changed the chain: a lower head is followed from now on. */
  rewritten(): void {
    this.#isDevelopment = true;
    for (const known of this.#upstreams.values()) known.marks = new BranchMarks();
    this.#served.forget();
    this.#witnesses.forget();
    this.#changeEpoch();
  }

  /** The chain id of the upstream was checked. @param isRight it is that of the network; false also without a response */
  verified(upstream: U, isRight: boolean, at: number): readonly Effect<U>[] {
    this.#apply(this.#followed.verified(upstream, isRight, at), at);
    return this.#takeEffects();
  }

  /** The missing blocks of the effect `fetch` are there, as far as upstreams returned them. */
  fetched(branch: Branch, at: number): readonly Effect<U>[] {
    const move = this.#followed.fetching;
    const isSelected = move === undefined || typeof branch === 'string' || this.#isStillSelected(move, branch, at);
    this.#apply(this.#followed.fetched(branch, isSelected, at), at);
    return this.#takeEffects();
  }

  /** The blocks before the oldest known one, oldest first. */
  precededBy(ancestors: readonly Header[]): void {
    this.#followed.ring.prepend(ancestors);
    this.#view = undefined;
  }

  /** The block of an upstream of the effect `compare`. */
  compared(upstream: U, header: Header, at: number): readonly Effect<U>[] {
    const known = this.#upstreams.get(upstream);
    if (known?.head === undefined || header.number !== known.comparedAt) return noEffects;
    known.learnAncestors([header]);
    if (this.#followed.headers.has(header.hash)) known.standing = undefined;
    this.#update(known, at);
    return this.#takeEffects();
  }

  // An upstream

  #update(known: UpstreamBlocks<U>, at: number): void {
    this.#view = undefined;
    const wasForeign = known.isForeign;
    known.isForeign = known.head?.header === undefined ? wasForeign : this.#followed.isForeign(known.head.header);
    if (known.isForeign && !wasForeign) this.#effects.push({ kind: 'verify', upstream: known.upstream });
    this.#decide(known, at);
  }

  /** Drops what is known only from upstreams that are on another chain. @param numbers of their heads */
  #leave(upstreams: readonly U[], numbers: readonly bigint[], at: number): void {
    const highest = this.#network?.number ?? 0n;
    const others = [...this.#upstreams.values()].filter(({ isUsable }) => isUsable);
    const isOnlyTheirs = !others.some(({ head }) => (head?.number ?? -1n) >= highest);
    if (isOnlyTheirs && numbers.some((number) => number >= highest)) this.#forgetNetwork();
    this.#apply(this.#followed.left(upstreams, numbers.length > 0, others.length > 0), at);
  }

  // What callers were served

  /**
   * Records a served block. If it is older than its upstream's head, or on another branch, that is polled, and no state at it is
   * reused until then.
   */
  #serve(
    upstream: U,
    known: UpstreamBlocks<U> | undefined,
    { number, hash }: ServedBlock,
    { isLatest = false, isChosen = false, sentAt, tag }: Extract<How, { by: 'response' }>,
    at: number,
  ): void {
    if (tag !== undefined) this.#serveTagged(upstream, number, tag, at);
    const knownHash = this.#followed.headers.at(number)?.hash;
    const isOnOtherBranch = hash !== undefined && hash !== (knownHash ?? hash);
    if (isOnOtherBranch && (isLatest || number >= this.#served.number)) {
      this.#otherBranch = { upstream, at };
      this.#view = undefined;
    }
    const isContradicted = known?.head !== undefined && number < known.head.number && known.head.at < sentAt;
    if ((isOnOtherBranch || (isLatest && isContradicted)) && known && !isAlternating(known, at)) {
      if (!known.isSuspected) this.#changeEpoch();
      known.isSuspected = true;
      this.#effects.push({ kind: 'poll', upstream });
    }
    // Below a final block, it is of another chain.
    if (isLatest && this.#final !== undefined && number < this.#final && known?.isBelowFinal !== true) {
      if (known !== undefined) known.isBelowFinal = true;
      this.#break();
    }
    if (known?.head !== undefined && number > known.head.number && !isChosen) {
      known.set({ number }, at);
      this.#awaited.delete(upstream);
      this.#update(known, at);
    }
    // A block of a branch that lost, or of a marked upstream that is ahead, is not the newest one that the network has served, unless
    // it is followed later.
    const { leftAt, hasLost, aheadOf } = known?.standing ?? {};
    const isAhead = known?.marks.mark !== undefined && aheadOf !== undefined && number > aheadOf;
    if (known !== undefined && (isAhead || (hasLost && leftAt !== undefined && number >= leftAt))) {
      if (known.servedApart === undefined || number > known.servedApart) known.servedApart = number;
      return;
    }
    const mayBeNewest = isLatest || isOnOtherBranch || number === known?.head?.number;
    this.#recordServed(number, upstream, at, mayBeNewest);
  }

  /** A number that the chain cannot have is ignored. One that was served before the head was known, or fell, is forgotten. */
  #serveTagged(upstream: U, number: bigint, tag: FinalTag, at: number): void {
    const head = this.#network;
    const { blocks: before } = this.#tags;
    if (head !== undefined) {
      if (number > highestPlausible(head, at, this.#times.blockMs)) return;
      this.#tags.dropAbove(head.number);
    }
    this.#tags.record(upstream, number, tag, at);
    if (this.#tags.blocks !== before) this.#view = undefined;
  }

  #recordServed(number: bigint, upstream: U | undefined, at: number, mayBeNewest: boolean): void {
    const before = this.#served.number;
    this.#served.record(number, upstream, at, mayBeNewest);
    if (this.#served.number !== before) this.#changeEpoch();
  }

  /** Watchers get the head of the chain. It is above the network's head only while a reorg is followed. */
  #recordDelivered(at: number): void {
    const { head } = this.#followed.headers;
    if (!this.#isDelivered || head === undefined || this.#network === undefined) return;
    if (head.number <= this.#network.number) this.#recordServed(head.number, undefined, at, true);
  }

  // The head of the network

  /** @param updated the upstream with a new or failed poll, whose polls below the head are counted */
  #decide(updated: UpstreamBlocks<U> | undefined, at: number): void {
    if (this.#awaited.size > 0) {
      if (at < this.#awaitedUntil) return;
      this.#awaited.clear();
    }
    if (updated !== undefined && this.#isBackAtHead(updated, at)) {
      this.#otherBranch = undefined;
      this.#view = undefined;
    }
    const selection = this.#select(at);
    const { head: highest, leaves } = selection;
    if (highest === undefined) return;
    // A branch whose blocks are being fetched is not left for an ancestor of its head.
    const isBound = leaves === undefined || this.#followed.fetching !== undefined;
    const lowest = (isBound ? this.#network?.number : undefined) ?? 0n;
    const selected = this.#witnesses.headToFollow(highest, lowest, this.#times.blockMs);
    const usable = [...this.#upstreams.values()].filter(({ isUsable, standing }) => isUsable && standing === undefined);
    const seen = selected?.head.number ?? this.#network?.number ?? highest.head.number;
    for (const { head } of usable)
      // A held head is seen with each block above it.
      if (head !== undefined && (head.number === seen || (selected !== highest && head.number > seen)))
        this.#seenAt = Math.max(this.#seenAt, head.at);
    this.#view = undefined;
    if (selected === undefined) return;
    const { head } = selected;
    let isConfirmed: boolean;
    if (leaves === 'lost' || this.#network === undefined || head.number >= this.#network.number) {
      this.#accept(head);
      const areEqual = usable.every((known) => known.head?.header?.hash === head.header?.hash);
      isConfirmed = leaves !== undefined || (areEqual && !this.#isPast(head));
    } else isConfirmed = this.#confirmLower(head, this.#network, usable, updated, at);
    const fills = this.#isWatched ? 'all' : at - this.#usedAt < this.#options.inUseMs ? 'small' : 'none';
    const { head: before } = this.#followed;
    if (head.header !== undefined) this.#follow(head.header, selected.known, isConfirmed, fills, at);
    else this.#followNewestHeader(head.number, usable, fills, at);
    // The first head of several has been followed: now the others are compared with it.
    if (before === undefined && this.#followed.head !== undefined) this.#decide(undefined, at);
  }

  /** Requests the block at the lower height from the higher one of two: the upstream with the head, and one of another group. */
  #compareHeads(head: UpstreamReport<U>, onBranch: readonly UpstreamReport<U>[]): void {
    for (const other of onBranch) {
      if (other.group === head.group) continue;
      const [high, low] = other.head.number > head.head.number ? [other, head] : [head, other];
      const { number, header } = low.head;
      const isKnown = header === undefined || number >= high.linkedFrom;
      if (isKnown || groupsWith([high], number, header.hash, this.#followed.headers) > 0) continue;
      this.#askFor(high.known, number);
    }
  }

  #askFor(known: UpstreamBlocks<U>, number: bigint): void {
    if (number === known.comparedAt) return;
    known.comparedAt = number;
    this.#effects.push({ kind: 'compare', upstream: known.upstream, number });
  }

  /** Selects the head, and updates what follows for each upstream. */
  #select(at: number): Selection<UpstreamReport<U>> {
    const options = this.#options;
    const { headers: followed } = this.#followed;
    const { blockMs } = this.#times;
    const reports = [...this.#upstreams.values()].flatMap(
      (known) => (known.isUsable ? known.reportFor(options.groupOf(known.upstream)) : undefined) ?? [],
    );
    const selection = selectHead(reports, followed, blockMs, at, options.unixMsAt?.(at));
    for (const known of this.#upstreams.values()) if (!known.isUsable) known.standing = undefined;
    for (const report of reports) {
      const { known } = report;
      const found = selection.standings.get(report);
      // Of a branch that lost, it is known to be on another one only by its blocks.
      known.standing = found?.aheadOf !== undefined && known.standing?.hasLost === true ? known.standing : found;
      const { hasLost, aheadOf } = known.standing ?? {};
      if (known.servedApart !== undefined && !hasLost && aheadOf === undefined) {
        if (report.head.number >= known.servedApart) this.#recordServed(known.servedApart, known.upstream, at, true);
        known.servedApart = undefined;
      }
      const others = reports.filter(({ group }) => group !== report.group);
      const othersWith = (number: bigint, hash: string): number =>
        new Set(others.filter(({ hashes }) => hashes.get(number) === hash).map(({ group }) => group)).size;
      const wasMarked = known.marks.mark !== undefined;
      known.marks.update(report, known.standing, followed, othersWith, at);
      if (!wasMarked && known.marks.mark !== undefined) this.#marks++;
      this.#compare(known, found?.aheadOf !== undefined, report.linkedFrom, at);
    }
    const { disputedAt } = selection;
    this.#dispute = disputedAt === undefined ? undefined : { number: disputedAt, at: this.#dispute?.at ?? at };
    for (const { known } of selection.late) this.#effects.push({ kind: 'late', upstream: known.upstream });
    const polled = [...this.#upstreams.values()].filter((known) => known.head !== undefined);
    const polledGroups = new Set(polled.map(({ upstream }) => options.groupOf(upstream))).size;
    const onBranch = this.#witnesses.update({ reports, selection, followed, blockMs, polledGroups }, at);
    if (selection.head !== undefined) this.#compareHeads(selection.head, onBranch);
    return selection;
  }

  /** Requests the block at the height of the network from an upstream that stays ahead, if that is not known. */
  #compare(known: UpstreamBlocks<U>, isAhead: boolean, linkedFrom: bigint, at: number): void {
    const number = this.#followed.head?.number;
    known.aheadSince = isAhead ? (known.aheadSince ?? at) : undefined;
    if (known.aheadSince === undefined || at - known.aheadSince < AHEAD_MS) return;
    if (number !== undefined && number < linkedFrom) this.#askFor(known, number);
  }

  /**
   * Whether a head is a lower block of the followed chain: it shows no reorg, also if the upstream with the newest block left.
   * On development chains, blocks can be removed.
   */
  #isPast({ header }: SeenHead): boolean {
    const { headers } = this.#followed;
    return (
      !this.#isDevelopment && header !== undefined && header.hash !== headers.head?.hash && headers.has(header.hash)
    );
  }

  /** Whether the upstream that served another branch has the followed head since: it served a block that was removed. */
  #isBackAtHead(known: UpstreamBlocks<U>, at: number): boolean {
    const { upstream, head } = known;
    if (this.#otherBranch?.upstream !== upstream || head === undefined || isAlternating(known, at)) return false;
    return head.at > this.#otherBranch.at && head.header !== undefined && this.#followed.headers.has(head.header.hash);
  }

  /** All usable upstreams are below the head. @returns whether the chain was replaced by a shorter one, and its head accepted */
  #confirmLower(
    head: SeenHead,
    previous: SeenHead,
    usable: readonly UpstreamBlocks<U>[],
    updated: UpstreamBlocks<U> | undefined,
    at: number,
  ): boolean {
    if (updated?.head !== undefined) updated.pollsBelow++;
    this.#lowerSince ??= at;
    const isNew = !this.#isDevelopment && at - this.#lowerSince < this.#options.minLowerMs;
    const isOld = head.header !== undefined && this.#followed.ring.hasRemoved(head.header);
    const arePolled = usable
      .filter((known) => known.head !== undefined && known.head.number <= head.number)
      .every(
        (known) =>
          known.pollsBelow >= (isOld || isAlternating(known, at) ? CONFIRMING_POLLS_ALTERNATING : CONFIRMING_POLLS),
      );
    const wasConfirming = this.#isConfirming;
    this.#isConfirming = isNew || !arePolled;
    const isConfirmed = !this.#isConfirming && this.#isReplaced(head, previous, at);
    if (this.#isConfirming && !wasConfirming) this.#effects.push({ kind: 'confirm' });
    if (isConfirmed || (this.#isConfirming && !wasConfirming)) this.#break();
    if (isConfirmed) this.#accept(head);
    return isConfirmed;
  }

  /**
   * Whether a confirmed lower head shows that the chain was replaced. A known block, or one about which nothing is known, may be
   * a part of the same chain, because the upstreams with the newest blocks failed and the others lag. So does one on a branch
   * that a reorg removed; only an upstream alone may have gone back to it.
   */
  #isReplaced({ number, header }: SeenHead, previous: SeenHead, at: number): boolean {
    if (this.#isDevelopment || this.#mayBeReplaced) return true;
    const [only, other] = this.#upstreams.values();
    const isAlone = only !== undefined && other === undefined && !isAlternating(only, at);
    if (!isAlone && header !== undefined && this.#followed.ring.hasRemoved(header)) return false;
    const knownHash = this.#followed.headers.at(number)?.hash;
    if (knownHash !== undefined && header !== undefined) return header.hash !== knownHash;
    return (this.#final !== undefined && number < this.#final) || previous.number - number > MAX_LAGGING_BLOCKS;
  }

  #accept(head: SeenHead): void {
    const hasFallen = this.#network !== undefined && head.number < this.#network.number;
    this.#isConfirming = false;
    this.#lowerSince = undefined;
    this.#mayBeReplaced = false;
    for (const known of this.#upstreams.values()) known.pollsBelow = 0;
    this.#times.add(head);
    this.#network = head;
    this.#view = undefined;
    if (this.#final !== undefined && head.number < this.#final) this.#final = undefined;
    if (hasFallen) this.#tags.dropAbove(head.number);
    if (hasFallen && (this.#witnesses.known.block?.number ?? 0n) > head.number) this.#witnesses.forget();
    const before = this.#served.number;
    // What was served of the branch that is followed now stays served, although one upstream alone has it.
    const { number: served, source } = this.#served;
    const from = source && this.#upstreams.get(source);
    const isHeld = from !== undefined && from.standing?.leftAt === undefined && (from.head?.number ?? -1n) >= served;
    const isShorter = hasFallen && (this.#isDevelopment || !isHeld);
    this.#served.follow(head, this.#times.blockMs, isShorter, (upstream) => this.#upstreams.get(upstream)?.head);
    if (this.#served.number !== before) this.#changeEpoch();
    // If the gas limit of the new head is 0, the head of an upstream with a usable one replaces it.
    if (head.gasLimit === 0n)
      this.#gasBlock =
        [...this.#upstreams.values()].find((known) => known.isUsable && (known.head?.gasLimit ?? 0n) > 0n)?.head ??
        head;
    else if (head.gasLimit !== undefined) this.#gasBlock = head;
  }

  /** The head was that of another chain. */
  #forgetNetwork(): void {
    this.#network = undefined;
    this.#final = undefined;
    this.#times.heads = [];
    this.#lowerSince = undefined;
    this.#otherBranch = undefined;
    this.#isConfirming = false;
    this.#served.forget();
    this.#witnesses.forget();
    this.#tags.dropAbove(-1n);
    this.#break();
  }

  // The followed chain

  /** Follows the newest header up to a head of which only the number is known, from a response to a caller. */
  #followNewestHeader(max: bigint, usable: readonly UpstreamBlocks<U>[], fills: Move<U>['fills'], at: number): void {
    const { head, ring } = this.#followed;
    let newest = head;
    let from: UpstreamBlocks<U> | undefined;
    for (const known of usable) {
      const { header } = known;
      if (header === undefined || header.number > max || header.number <= (newest?.number ?? -1n)) continue;
      if (ring.hasRemoved(header)) continue;
      [newest, from] = [header, known];
    }
    if (newest !== undefined && from !== undefined) this.#follow(newest, from, false, fills, at);
  }

  #follow(head: Header, known: UpstreamBlocks<U>, isConfirmed: boolean, fills: Move<U>['fills'], at: number): void {
    this.#apply(this.#followed.follow({ head, known, isConfirmed, fills }, at), at);
  }

  /** Handles each step before the chain makes the next one. */
  #apply(steps: Iterable<Step<U>>, at: number): void {
    for (const step of steps) {
      if (step.kind === 'changed') this.#changed(step, at);
      else this.#effects.push(step);
    }
  }

  /**
   * Whether a head is still selected; false: by its blocks, it is on another branch than the one to follow, or others are too
   * far below it.
   */
  #isStillSelected({ known, head }: Move<U>, blocks: readonly Header[], at: number): boolean {
    if (this.#upstreams.get(known.upstream) !== known || known.hashes.get(head.number) !== head.hash) return false;
    known.learnAncestors(blocks);
    this.#select(at);
    this.#view = undefined;
    return known.standing === undefined;
  }

  #changed(step: Extract<Step<U>, { kind: 'changed' }>, at: number): void {
    const { change, reporter, isContinuous, isOtherChain } = step;
    this.#changeEpoch();
    this.#otherBranch = undefined;
    if (change.removed.length > 0) this.#acceptBranch(change.removed, at);
    this.#witnesses.removed(change.removed);
    this.#recordDelivered(at);
    const delivered = isOtherChain ? ({ ...change, hasGap: true, isOtherChain } as const) : change;
    this.#effects.push({ kind: 'changed', change: isContinuous ? delivered : undefined });
    if ((!isContinuous || change.hasGap === true) && this.#isWatched && reporter !== undefined)
      this.#effects.push({ kind: 'fetch-ancestors', from: reporter, headers: this.#followed.headers });
  }

  /**
   * Accepts that blocks are not in the chain any more. It may be shorter; an upstream may have more of its blocks already.
   * Upstreams whose head was removed have at least the block before.
   */
  #acceptBranch(removed: readonly Header[], at: number): void {
    const { head: header } = this.#followed.headers;
    if (header === undefined) return;
    const fork = (removed.at(-1)?.number ?? 0n) - 1n;
    const known = [...this.#upstreams.values()];
    for (const one of known)
      if (one.head !== undefined && removed.some(({ hash }) => hash === one.head?.header?.hash))
        one.head = { ...one.head, number: fork, header: undefined };
    let head: SeenHead = { ...blockOf(header), at };
    for (const one of known)
      if (one.isUsable && one.head !== undefined && one.head.number > head.number) head = one.head;
    if (this.#network === undefined || head.number >= this.#network.number) return;
    // A newer block than those that were removed is known from a response. Polls decide.
    this.#mayBeReplaced = this.#network.number > (removed[0]?.number ?? 0n);
    if (!this.#mayBeReplaced) this.#accept(head);
  }

  // Epochs, effects

  /** Earlier answers are not reused. */
  #changeEpoch(): void {
    this.#epoch = ++epochs;
    this.#view = undefined;
  }

  /** Blocks may have been replaced unnoticed. */
  #break(): void {
    this.#changeEpoch();
    this.#unbrokenSince = this.#epoch;
  }

  #takeEffects(): readonly Effect<U>[] {
    const effects = this.#effects;
    if (effects.length === 0) return noEffects;
    this.#effects = [];
    return effects;
  }
}

const noEffects: readonly never[] = [];

function blockOf(header: Header): Block {
  return parseBlock(header.block) ?? { number: header.number };
}
