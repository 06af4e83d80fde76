import { BlockTimes, maxLagOf } from './block-times.ts';
import { BranchMarks } from './branch-marks.ts';
import { HeaderRing, type ChainChange, type Headers } from './header-ring.ts';
import { parseBlock, type Block, type Header, type SeenHead } from './header.ts';
import { NewestServed } from './newest-served.ts';
import {
  groupsOf,
  groupsWith,
  highestPlausible,
  isNearHead,
  newestWitness,
  selectHead,
  type Selection,
} from './select-head.ts';
import { ServedHashes } from './served-hashes.ts';
import { isAlternating, UpstreamBlocks, type UpstreamReport } from './upstream-blocks.ts';
import { ChainView, noWitnesses, type FinalTag, type Hold, type TaggedBlock } from './view.ts';

/** Over an hour of Ethereum, and minutes of the fastest networks. */
const MAX_HEADERS = 512;
/** An upstream is hardly this many blocks behind: the chain starts anew. */
const MAX_LAGGING_BLOCKS = 512n;

/** A lower head is confirmed after this many polls of each upstream at or below it. */
const CONFIRMING_POLLS = 3;
/** The same if several nodes share, or may share, the URL: with two, 9 polls in a row reach one in 256 cases. */
const CONFIRMING_POLLS_ALTERNATING = 9;

/** An upstream that is ahead of the others for this time is asked for its block at their height: they have been polled since. */
const AHEAD_MS = 2_000;

/** If a gap could not be filled for this time, the chain restarts at the head. */
const MAX_GAP_MS = 60_000;
/** Missing blocks that are fetched without watchers. With larger gaps, the chain restarts at the head. */
const MAX_UNWATCHED_GAP = 3n;

/** A block of which a caller is served an object. */
export interface ServedBlock {
  readonly number: bigint;
  /** Lower case; undefined: not known. */
  readonly hash?: string | undefined;
}

/** How a block became known. */
export type How =
  | { readonly by: 'notification' }
  | { readonly by: 'poll'; readonly sentAt: number }
  /**
   * A caller is served the block, or an object in it. `isLatest`: for `latest`. `tag`: for this one. `isChosen`: the gateway
   * returned a number of its own, which the upstream may not have.
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
  /** The chain has changed, or is known again. Watchers get the change; undefined: they continue from the head. */
  | { readonly kind: 'changed'; readonly change: ChainChange | undefined }
  /** Fetch the blocks between `headers` and the head, for watchers until a time, and call `fetched`. */
  | {
      readonly kind: 'fetch';
      readonly head: Header;
      readonly from: U;
      readonly headers: Headers;
      readonly watchedUntil: number | undefined;
    }
  /** The first watcher's chain, or one that restarts, has few blocks: fetch those before, and call `precededBy`. */
  | { readonly kind: 'fetch-ancestors'; readonly from: U; readonly headers: Headers }
  /** Check the chain id of the upstream, and call `verified`. */
  | { readonly kind: 'verify'; readonly upstream: U }
  /** Poll the upstream: its head may have been replaced. */
  | { readonly kind: 'poll'; readonly upstream: U }
  /** Poll the upstream: others have newer heads, which are not accepted before it has them too. */
  | { readonly kind: 'late'; readonly upstream: U }
  /** The upstream stays ahead of all others: fetch its block of this number, and call `compared`. */
  | { readonly kind: 'compare'; readonly upstream: U; readonly number: bigint }
  /** All upstreams are below the head: poll them to confirm it. */
  | { readonly kind: 'confirm' };

export interface ChainOptions<U> {
  /** Blocks can be removed: confirmed lower heads are always followed. */
  readonly isDevelopment: boolean;
  /** Minimum time until a lower head is confirmed on other chains, because calls may poll often. */
  readonly minLowerMs: number;
  /** Without a use and a poll for longer, more blocks than are followed may have been replaced. */
  readonly pauseMs: number;
  /** The network is in use for this time after a call. */
  readonly inUseMs: number;
  groupOf(upstream: U): string;
  /** Unix time of an event in ms; undefined: block timestamps have no relation to it. */
  readonly unixMsAt?: (at: number) => number;
}

/** How many groups must have a block on which proofs rest. */
export interface WitnessRule {
  /** Undefined: more than half of the groups. */
  readonly count: number | undefined;
  /** Whether the head is held at the newest such block. */
  readonly hold: Hold;
}

const majority: WitnessRule = { count: undefined, hold: 'no' };

/** A head to move the chain to. */
interface Move<U> {
  readonly head: Header;
  readonly from: U;
  /** The healthy upstreams agree on the head: it replaces one that is not lower. */
  readonly isConfirmed: boolean;
  /** The gaps whose blocks are fetched: all for watchers, small ones while the network is in use. */
  readonly fills: 'all' | 'small' | 'none';
  /** The upstream has just returned the chain id of the network. */
  readonly isChecked?: boolean;
}

/** A move that waits for the check of its upstream's chain. */
interface UncheckedMove<U> {
  readonly move: Move<U>;
  /** The head of the chain when the check began. */
  readonly before: Header | undefined;
}

interface Selected<U> extends Selection<UpstreamReport<U>> {
  /** Its head is the newest witnessed block, as far as one is the head of an upstream. */
  readonly witness: UpstreamReport<U> | undefined;
}

const finalTags = ['safe', 'finalized'] as const satisfies readonly FinalTag[];

let epochs = 0;

/**
 * The blocks of one network, by what its upstreams report: `seen` and `gone` are the events, `view` is what follows from all
 * of them. It has no clock, and sends nothing: each event has its time, and returns what the poller does next.
 */
export class Chain<U> {
  readonly #options: ChainOptions<U>;
  /** In order of preference. */
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
  /** At the start, the head is selected when these were polled, or at this time. */
  readonly #awaited = new Set<U>();
  #awaitedUntil = -Infinity;

  // The head of the network
  #network: SeenHead | undefined;
  #isDevelopment: boolean;
  readonly #times = new BlockTimes();
  readonly #served = new NewestServed<U>();
  readonly #hashes = new ServedHashes();
  readonly #tagged: Record<FinalTag, TaggedBlock<U>> = {
    safe: { number: -1n, olderAt: new Map() },
    finalized: { number: -1n, olderAt: new Map() },
  };
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

  #witnesses = noWitnesses;

  // The followed chain
  readonly #ring = new HeaderRing(MAX_HEADERS);
  /** The upstream that reported its head. */
  #reporter: U | undefined;
  /** It is followed without a pause. */
  #isCurrent = false;
  /** The upstream that reported its head was found to be on another chain. */
  #isDoubtful = false;
  /** Watchers may have missed a change, so that it restarts at the next head. */
  #hasMissed = false;
  #gapSince: number | undefined;
  /** The move whose missing blocks are being fetched, and the latest head since. */
  #fetching: Move<U> | undefined;
  #next: Move<U> | undefined;
  /** The latest head of each upstream whose chain is being checked. Heads of others are followed meanwhile. */
  readonly #unchecked = new Map<U, UncheckedMove<U>>();
  /** Those whose check has ended while blocks are being fetched. */
  #checked: UncheckedMove<U>[] = [];

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
      headers: this.#ring.headers,
      newestServed: this.#served.number,
      tagged: { ...this.#tagged },
      served: this.#hashes,
      seenAt: this.#seenAt,
      blockMs: this.#times.blockMs,
      pastHeads: this.#times.heads,
      gasBlock: this.#gasBlock,
      dispute: this.#dispute,
      witnesses: this.#witnesses,
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
    return this.#isCurrent;
  }

  /** The upstream that returned the newest served block; undefined: it was the network's head. */
  get newestServedFrom(): U | undefined {
    return this.#served.source;
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

  /** These upstreams, best first, instead of those before. What is known of the others is forgotten. */
  replaceUpstreams(upstreams: readonly U[], rule = majority): void {
    const previous = new Map(this.#upstreams);
    this.#upstreams.clear();
    for (const upstream of upstreams)
      this.#upstreams.set(upstream, previous.get(upstream) ?? new UpstreamBlocks(upstream));
    for (const upstream of this.#awaited) if (!this.#upstreams.has(upstream)) this.#awaited.delete(upstream);
    const groups = new Set(upstreams.map((upstream) => this.#options.groupOf(upstream))).size;
    const needed = rule.count ?? Math.floor(groups / 2) + 1;
    // What fewer groups had is not witnessed.
    if (needed > this.#witnesses.needed) this.#forgetWitnessed();
    this.#witnesses = { ...this.#witnesses, needed, hold: rule.hold };
    for (const tag of finalTags) {
      const { number, olderAt } = this.#tagged[tag];
      this.#tagged[tag] = {
        number,
        olderAt: new Map([...olderAt].filter(([upstream]) => this.#upstreams.has(upstream))),
      };
    }
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
      this.#witnesses = { ...this.#witnesses, missingSince: undefined };
      this.#view = undefined;
    }
    return this.#takeEffects();
  }

  /** These upstreams are on another chain: what is known only from them does not count. */
  left(upstreams: readonly U[], at: number): readonly Effect<U>[] {
    const left = upstreams.flatMap((upstream) => this.#upstreams.get(upstream) ?? []);
    const numbers = left.flatMap(({ head, header }) => head?.number ?? header?.number ?? []);
    for (const known of left) {
      known.forget();
      known.marks = new BranchMarks();
      this.#awaited.delete(known.upstream);
    }
    this.#checked = this.#checked.filter(({ move }) => !upstreams.includes(move.from));
    if (this.#next !== undefined && upstreams.includes(this.#next.from)) this.#next = undefined;
    if (numbers.length > 0) this.#leave(upstreams, numbers, at);
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
    for (const tag of finalTags) {
      const { number, olderAt } = this.#tagged[tag];
      if (tags[tag] > number) this.#tagged[tag] = { number: tags[tag], olderAt };
    }
    this.#view = undefined;
  }

  /** Callers are served the object, of a block or in it. */
  servedHash(hash: unknown, blockHash: unknown, at: number): void {
    this.#hashes.add(hash, blockHash, at);
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
    this.#forgetWitnessed();
    this.#isConfirming = false;
    this.#isCurrent = false;
  }

  /** The head is selected when these upstreams were polled, or at this time. */
  waitFor(upstreams: readonly U[], until: number): void {
    this.#awaited.clear();
    for (const upstream of upstreams) this.#awaited.add(upstream);
    this.#awaitedUntil = until;
  }

  /** Whether the chain has watchers. Changes are delivered to watchers, from the next head on for the first one. */
  watched(isWatched: boolean, at: number): void {
    if (isWatched && !this.#isWatched) this.#isCurrent = false;
    this.#isWatched = isWatched;
    this.#recordDelivered(at);
  }

  /** A watcher did not get the last change. */
  missed(): void {
    this.#hasMissed = true;
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
    this.#forgetWitnessed();
    this.#changeEpoch();
  }

  /** The chain id of the upstream was checked. @param isRight it is that of the network; false also without a response */
  verified(upstream: U, isRight: boolean, at: number): readonly Effect<U>[] {
    const unchecked = this.#unchecked.get(upstream);
    this.#unchecked.delete(upstream);
    if (unchecked !== undefined && isRight) this.#checked.push(unchecked);
    this.#continue(at);
    return this.#takeEffects();
  }

  /**
   * The missing blocks of the effect `fetch` are there.
   * @param branch from the followed chain to the head, oldest first. `unknown`: an upstream does not return one of them
   */
  fetched(branch: readonly Header[] | 'unknown' | 'too-long', at: number): readonly Effect<U>[] {
    const move = this.#fetching;
    this.#fetching = undefined;
    if (move !== undefined) this.#closeGap(move, branch, at);
    this.#continue(at);
    return this.#takeEffects();
  }

  /** The blocks before the oldest known one, oldest first. */
  precededBy(ancestors: readonly Header[]): void {
    this.#ring.prepend(ancestors);
    this.#view = undefined;
  }

  /** The block of an upstream of the effect `compare`. */
  compared(upstream: U, header: Header, at: number): readonly Effect<U>[] {
    const known = this.#upstreams.get(upstream);
    if (known?.head === undefined || header.number !== known.comparedAt) return noEffects;
    known.learnAncestors([header]);
    if (this.#ring.headers.has(header.hash)) known.standing = undefined;
    this.#update(known, at);
    return this.#takeEffects();
  }

  // An upstream

  #update(known: UpstreamBlocks<U>, at: number): void {
    this.#view = undefined;
    const wasForeign = known.isForeign;
    known.isForeign = known.head?.header === undefined ? wasForeign : this.#isForeign(known.head.header);
    if (known.isForeign && !wasForeign) this.#effects.push({ kind: 'verify', upstream: known.upstream });
    this.#decide(known, at);
  }

  /** Whether a header does not continue the chain at a height where it should, so that it may be of another chain. */
  #isForeign(header: Header): boolean {
    const { headers } = this.#ring;
    const { head, oldest } = headers;
    const { number, hash, parentHash } = header;
    if (!this.#isCurrent || head === undefined || oldest === undefined) return false;
    if (headers.has(hash) || headers.has(parentHash) || this.#ring.hasRemoved(header)) return false;
    if (number > oldest.number && number <= head.number + 1n) return true;
    return number > head.number + BigInt(MAX_HEADERS) || number < oldest.number - BigInt(MAX_HEADERS);
  }

  /**
   * Drops what is known only from upstreams that are on another chain. If the next head of another one continues the chain,
   * they reported no block of theirs. Without others, it restarts.
   * @param numbers of their heads
   */
  #leave(upstreams: readonly U[], numbers: readonly bigint[], at: number): void {
    const highest = this.#network?.number ?? 0n;
    const others = [...this.#upstreams.values()].filter(({ isUsable }) => isUsable);
    const isOnlyTheirs = !others.some(({ head }) => (head?.number ?? -1n) >= highest);
    if (isOnlyTheirs && numbers.some((number) => number >= highest)) this.#forgetNetwork();
    this.#gapSince = undefined;
    if (this.#reporter === undefined || !upstreams.includes(this.#reporter)) return;
    if (this.#ring.headers.head === undefined) return;
    this.#isDoubtful = true;
    if (others.length > 0) return;
    this.#ring.clear();
    this.#changed({ removed: [], added: [], hasGap: true }, undefined, at);
    this.#isCurrent = false;
  }

  // What callers were served

  /**
   * If a served block is older than the head of its upstream, or on another branch, that is polled, and no state at it is
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
    const knownHash = this.#ring.headers.at(number)?.hash;
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
    if (head !== undefined) {
      if (number > highestPlausible(head, at, this.#times.blockMs)) return;
      this.#dropTagsAbove(head.number);
    }
    const { number: newest, olderAt } = this.#tagged[tag];
    if (number >= newest && number === newest && !olderAt.has(upstream)) return;
    const older = new Map(olderAt);
    if (number < newest) older.set(upstream, at);
    else older.delete(upstream);
    this.#tagged[tag] = { number: number > newest ? number : newest, olderAt: older };
    this.#view = undefined;
  }

  #recordServed(number: bigint, upstream: U | undefined, at: number, mayBeNewest: boolean): void {
    const before = this.#served.number;
    this.#served.record(number, upstream, at, mayBeNewest);
    if (this.#served.number !== before) this.#changeEpoch();
  }

  /** Watchers get the head of the chain. It is above the network's head only while a reorg is followed. */
  #recordDelivered(at: number): void {
    const { head } = this.#ring.headers;
    if (!this.#isWatched || head === undefined || this.#network === undefined) return;
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
    const selected = this.#headToFollow(selection);
    const usable = [...this.#upstreams.values()].filter(({ isUsable, standing }) => isUsable && standing === undefined);
    const seen = selected?.head.number ?? this.#network?.number ?? highest.head.number;
    for (const { head } of usable)
      // A held head is seen with each block above it.
      if (head !== undefined && (head.number === seen || (selected !== highest && head.number > seen)))
        this.#seenAt = Math.max(this.#seenAt, head.at);
    this.#view = undefined;
    if (selected === undefined) return;
    const { head } = selected;
    const from = selected.known.upstream;
    let isConfirmed: boolean;
    if (leaves === 'lost' || this.#network === undefined || head.number >= this.#network.number) {
      this.#accept(head);
      const areEqual = usable.every((known) => known.head?.header?.hash === head.header?.hash);
      isConfirmed = leaves !== undefined || (areEqual && !this.#isPast(head));
    } else isConfirmed = this.#confirmLower(head, this.#network, usable, updated, at);
    const fills = this.#isWatched ? 'all' : at - this.#usedAt < this.#options.inUseMs ? 'small' : 'none';
    const wasUnknown = this.#ring.headers.head === undefined;
    if (head.header !== undefined) this.#follow({ head: head.header, from, isConfirmed, fills }, at);
    else this.#followNewestHeader(head.number, usable, fills, at);
    // The first head of several has been followed: now the others are compared with it.
    if (wasUnknown && this.#ring.headers.head !== undefined) this.#decide(undefined, at);
  }

  /** The selected head, or the newest witnessed one if the head is held there. Undefined: the head before stays. */
  #headToFollow({ head, leaves, witness }: Selected<U>): UpstreamReport<U> | undefined {
    const { needed, hold, block } = this.#witnesses;
    if (head === undefined || hold === 'no' || needed <= 1) return head;
    const { number } = head.head;
    // A branch whose blocks are being fetched is not left for an ancestor of its head.
    const lowest = leaves === undefined || this.#fetching !== undefined ? (this.#network?.number ?? 0n) : 0n;
    // All upstreams are below the head: polls decide.
    if (number < lowest) return head;
    const isHeld = (held: bigint | undefined): boolean =>
      hold === 'always' || (held !== undefined && isNearHead(held, number, this.#times.blockMs));
    const found = isHeld(witness?.head.number) ? witness : isHeld(block?.number) ? undefined : head;
    return found === undefined || found.head.number < lowest ? undefined : found;
  }

  /** Finds the newest witnessed block. @returns the upstream that has it as its head; undefined: none has */
  #findWitnessed(
    reports: readonly UpstreamReport<U>[],
    { head, leaves }: Selection<UpstreamReport<U>>,
    at: number,
  ): UpstreamReport<U> | undefined {
    const { needed, hold, block: before, missingSince } = this.#witnesses;
    if (needed <= 1 || head === undefined) return undefined;
    const { headers } = this.#ring;
    const { blockMs } = this.#times;
    const { number } = head.head;
    const onBranch = reports.filter(({ known }) => known.standing?.leftAt === undefined);
    const witness = newestWitness(onBranch, reports, headers, needed);
    const found = witness?.head.header;
    const isReplaced = before !== undefined && (headers.at(before.number)?.hash ?? before.hash) !== before.hash;
    const isNewer = found !== undefined && (before === undefined || found.number >= before.number);
    const block =
      isNewer || isReplaced || leaves !== undefined ? found && { number: found.number, hash: found.hash } : before;
    const lowest = number - BigInt(maxLagOf(blockMs));
    const present = groupsOf(onBranch.filter((one) => one.head.number >= lowest));
    const isNear = block !== undefined && isNearHead(block.number, number, blockMs);
    // Upstreams that are not polled say nothing where no proof depends on them.
    const polled = [...this.#upstreams.values()].filter((known) => known.head !== undefined);
    const isFollowed =
      hold !== 'no' || new Set(polled.map(({ upstream }) => this.#options.groupOf(upstream))).size >= needed;
    const isEnough = hold === 'near' ? isNear : block !== undefined && block.number >= lowest && present >= needed;
    const isMissing = isFollowed && !isEnough;
    this.#witnesses = { needed, hold, block, present, missingSince: isMissing ? (missingSince ?? at) : undefined };
    if (hold !== 'no' && !isNear) this.#compareHeads(head, onBranch);
    return witness;
  }

  /** Of the upstream with the head and one of another group, the higher one is asked for its block at the height of the other. */
  #compareHeads(head: UpstreamReport<U>, onBranch: readonly UpstreamReport<U>[]): void {
    for (const other of onBranch) {
      if (other.group === head.group) continue;
      const [high, low] = other.head.number > head.head.number ? [other, head] : [head, other];
      const { number, header } = low.head;
      const isKnown = header === undefined || number >= high.linkedFrom;
      if (isKnown || groupsWith([high], number, header.hash, this.#ring.headers) > 0) continue;
      this.#askFor(high.known, number);
    }
  }

  #askFor(known: UpstreamBlocks<U>, number: bigint): void {
    if (number === known.comparedAt) return;
    known.comparedAt = number;
    this.#effects.push({ kind: 'compare', upstream: known.upstream, number });
  }

  #forgetWitnessed(): void {
    this.#witnesses = { ...this.#witnesses, block: undefined, present: 0, missingSince: undefined };
  }

  /** Selects the head, and updates what follows for each upstream. */
  #select(at: number): Selected<U> {
    const options = this.#options;
    const reports = [...this.#upstreams.values()].flatMap(
      (known) => (known.isUsable ? known.reportFor(options.groupOf(known.upstream)) : undefined) ?? [],
    );
    const selection = selectHead(reports, this.#ring.headers, this.#times.blockMs, at, options.unixMsAt?.(at));
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
      known.marks.update(report, known.standing, this.#ring.headers, othersWith, at);
      if (!wasMarked && known.marks.mark !== undefined) this.#marks++;
      this.#compare(known, found?.aheadOf !== undefined, report.linkedFrom, at);
    }
    const { disputedAt } = selection;
    this.#dispute = disputedAt === undefined ? undefined : { number: disputedAt, at: this.#dispute?.at ?? at };
    for (const { known } of selection.late) this.#effects.push({ kind: 'late', upstream: known.upstream });
    return { ...selection, witness: this.#findWitnessed(reports, selection, at) };
  }

  /** If an upstream stays ahead, and what it has at the height of the network is not known, it is asked. */
  #compare(known: UpstreamBlocks<U>, isAhead: boolean, linkedFrom: bigint, at: number): void {
    const number = this.#ring.headers.head?.number;
    known.aheadSince = isAhead ? (known.aheadSince ?? at) : undefined;
    if (known.aheadSince === undefined || at - known.aheadSince < AHEAD_MS) return;
    if (number !== undefined && number < linkedFrom) this.#askFor(known, number);
  }

  /**
   * Whether a head is a lower block of the followed chain: it shows no reorg, also if the upstream with the newest block left.
   * On development chains, blocks can be removed.
   */
  #isPast({ header }: SeenHead): boolean {
    const { headers } = this.#ring;
    return (
      !this.#isDevelopment && header !== undefined && header.hash !== headers.head?.hash && headers.has(header.hash)
    );
  }

  /** Whether the upstream that served another branch has the followed head since: it served a block that was removed. */
  #isBackAtHead(known: UpstreamBlocks<U>, at: number): boolean {
    const { upstream, head } = known;
    if (this.#otherBranch?.upstream !== upstream || head === undefined || isAlternating(known, at)) return false;
    return head.at > this.#otherBranch.at && head.header !== undefined && this.#ring.headers.has(head.header.hash);
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
    const isOld = head.header !== undefined && this.#ring.hasRemoved(head.header);
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
    if (!isAlone && header !== undefined && this.#ring.hasRemoved(header)) return false;
    const knownHash = this.#ring.headers.at(number)?.hash;
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
    if (hasFallen) this.#dropTagsAbove(head.number);
    if (hasFallen && (this.#witnesses.block?.number ?? 0n) > head.number) this.#forgetWitnessed();
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

  #dropTagsAbove(number: bigint): void {
    for (const tag of finalTags)
      if (this.#tagged[tag].number > number) this.#tagged[tag] = { number: -1n, olderAt: new Map() };
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
    this.#forgetWitnessed();
    this.#dropTagsAbove(-1n);
    this.#break();
  }

  // The followed chain

  /** Only the number of the head is known, from a response to a caller: the chain follows the newest header up to it. */
  #followNewestHeader(max: bigint, usable: readonly UpstreamBlocks<U>[], fills: Move<U>['fills'], at: number): void {
    let number = this.#ring.headers.head?.number ?? -1n;
    let move: Move<U> | undefined;
    for (const { header, upstream } of usable) {
      if (header === undefined || header.number > max || header.number <= number) continue;
      if (this.#ring.hasRemoved(header)) continue;
      number = header.number;
      move = { head: header, from: upstream, isConfirmed: false, fills };
    }
    if (move !== undefined) this.#follow(move, at);
  }

  /** Moves the chain to a head. While blocks are being fetched, only the latest head waits. */
  #follow(move: Move<U>, at: number): void {
    this.#next = move;
    this.#continue(at);
  }

  #continue(at: number): void {
    while (this.#fetching === undefined) {
      const move = this.#takeNext();
      if (move === undefined) return;
      this.#moveTo(move, at);
    }
  }

  /** Checked heads are first: a later head does not replace them. */
  #takeNext(): Move<U> | undefined {
    const checked = this.#checked.shift();
    if (checked !== undefined) {
      // The upstreams agreed on it before the chain moved.
      const isConfirmed = checked.move.isConfirmed && this.#ring.headers.head === checked.before;
      return { ...checked.move, isConfirmed, isChecked: true };
    }
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  #moveTo(move: Move<U>, at: number): void {
    const { head, from, isConfirmed, fills } = move;
    const { headers } = this.#ring;
    const current = headers.head;
    const isHigher = current === undefined || head.number > current.number;
    if (head.hash === current?.hash || (!isHigher && !isConfirmed && !this.#isFork(head, from, at))) {
      if (!this.#isCurrent) this.#changed({ removed: [], added: [] }, from, at);
    } else if (this.#hasMissed) this.#changed(this.#ring.restartAt(head, at), from, at);
    else if (headers.has(head.hash)) this.#changed({ removed: this.#ring.cutAbove(head.hash), added: [] }, from, at);
    else if (headers.has(head.parentHash)) this.#changed(this.#ring.extend([head], at), from, at);
    else if (!this.#isCurrent) {
      // Without a response of the upstream about its chain, the next head is tried.
      // What the upstreams have now is compared with it: all have a vote.
      if (current === undefined || this.#isChecked(move))
        this.#changed(this.#ring.restartAt(head, -Infinity), from, at);
    } else if (fills === 'none' || (fills === 'small' && isLargeGap(head, current)))
      this.#changed(this.#ring.restartAt(head, at), from, at);
    else {
      this.#gapSince ??= at;
      this.#fetching = move;
      const watchedUntil = fills === 'all' ? this.#gapSince + MAX_GAP_MS : undefined;
      this.#effects.push({ kind: 'fetch', head, from, headers, watchedUntil });
    }
  }

  /** False: the chain of the upstream is checked now, and then the head is followed, unless a later one of it is. */
  #isChecked(move: Move<U>): boolean {
    if (move.isChecked === true) return true;
    const isPending = this.#unchecked.has(move.from);
    this.#unchecked.set(move.from, { move, before: this.#ring.headers.head });
    if (!isPending) this.#effects.push({ kind: 'verify', upstream: move.from });
    return false;
  }

  /**
   * Whether a head that is not higher replaces the current one. Two blocks of the same height are a fork, which a later
   * block decides. Until then, only the upstream that reported the current head can replace it, or after a pause any upstream.
   * Of several nodes behind one URL, one may be on an old branch.
   * A lagging upstream reports older blocks of the ring, blocks below it, or of a branch that a reorg removed. Polls decide
   * whether an upstream alone went back to such a branch, because it may be several nodes.
   */
  #isFork(header: Header, from: U, at: number): boolean {
    const { headers } = this.#ring;
    const known = headers.at(header.number);
    if (known === undefined || known.hash === header.hash) return false;
    if (!this.#isCurrent) return true;
    const reporter = this.#upstreams.get(from);
    if (from !== this.#reporter || (reporter !== undefined && isAlternating(reporter, at))) return false;
    const isLower = headers.head !== undefined && header.number < headers.head.number;
    return !isLower || !this.#ring.hasRemoved(header);
  }

  #closeGap(move: Move<U>, branch: readonly Header[] | 'unknown' | 'too-long', at: number): void {
    // Nodes behind one URL may lack blocks that the next one has.
    if (branch === 'unknown' && move.fills === 'all' && at - (this.#gapSince ?? at) < MAX_GAP_MS) return;
    const blocks = typeof branch === 'string' ? undefined : branch;
    if (blocks !== undefined && !this.#isStillSelected(move, blocks, at)) return;
    if (!this.#ring.headers.has(blocks?.[0]?.parentHash ?? '') && !this.#isChecked(move)) return;
    this.#changed(
      blocks === undefined ? this.#ring.restartAt(move.head, at) : this.#ring.extend(blocks, at),
      move.from,
      at,
    );
  }

  /** False: by its blocks, a head is on another branch than the one to follow, or others are too far below it. */
  #isStillSelected({ from, head }: Move<U>, blocks: readonly Header[], at: number): boolean {
    const known = this.#upstreams.get(from);
    if (known === undefined || known.hashes.get(head.number) !== head.hash) return false;
    known.learnAncestors(blocks);
    this.#select(at);
    return known.standing === undefined;
  }

  #changed(change: ChainChange, reporter: U | undefined, at: number): void {
    const isOtherChain = this.#isDoubtful && (change.removed.length > 0 || change.hasGap === true);
    if (isOtherChain || change.added.length > 0) this.#isDoubtful = false;
    this.#reporter = reporter;
    // The upstreams agreed on it before the chain moved.
    if (this.#next !== undefined) this.#next = { ...this.#next, isConfirmed: false };
    this.#gapSince = undefined;
    this.#hasMissed = false;
    const isContinuous = this.#isCurrent;
    this.#isCurrent = true;
    this.#changeEpoch();
    this.#otherBranch = undefined;
    if (change.removed.length > 0) this.#acceptBranch(change.removed, at);
    const fork = change.removed.at(-1);
    // The ancestors of a witnessed block are witnessed, too.
    if (fork !== undefined && change.removed.some(({ hash }) => hash === this.#witnesses.block?.hash))
      this.#witnesses = { ...this.#witnesses, block: { number: fork.number - 1n, hash: fork.parentHash } };
    this.#recordDelivered(at);
    const delivered = isOtherChain ? ({ ...change, hasGap: true, isOtherChain } as const) : change;
    this.#effects.push({ kind: 'changed', change: isContinuous ? delivered : undefined });
    if ((!isContinuous || change.hasGap === true) && this.#isWatched && reporter !== undefined)
      this.#effects.push({ kind: 'fetch-ancestors', from: reporter, headers: this.#ring.headers });
  }

  /**
   * These blocks are not in the chain any more. It may be shorter; an upstream may have more of its blocks already. Upstreams
   * whose head was removed have at least the block before.
   */
  #acceptBranch(removed: readonly Header[], at: number): void {
    const { head: header } = this.#ring.headers;
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

function isLargeGap(head: Header, current: Header | undefined): boolean {
  return current === undefined || head.number - current.number - 1n > MAX_UNWATCHED_GAP;
}
