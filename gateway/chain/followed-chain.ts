import { HeaderRing, type ChainChange, type Headers } from './header-ring.ts';
import type { Header } from './header.ts';
import { isAlternating, type UpstreamBlocks } from './upstream-blocks.ts';

/** Headers of over an hour of Ethereum, and of minutes of the fastest networks. */
export const MAX_HEADERS = 512;
/** Time after which the chain restarts at the head if a gap could not be filled. */
const MAX_GAP_MS = 60_000;
/** Missing blocks that are fetched without watchers. With larger gaps, the chain restarts at the head. */
const MAX_UNWATCHED_GAP = 3n;

/** A head to move the chain to. */
export interface Move<U> {
  readonly head: Header;
  /** The upstream that reported the head. */
  readonly known: UpstreamBlocks<U>;
  /** The healthy upstreams agree on the head: it replaces one that is not lower. */
  readonly isConfirmed: boolean;
  /** The gaps whose blocks are fetched: all for watchers, small ones while the network is in use. */
  readonly fills: 'all' | 'small' | 'none';
  /** The upstream has just returned the chain id of the network. */
  readonly isChecked?: boolean;
}

/** Blocks from the followed chain to a head, oldest first. `unknown`: an upstream does not return one of them. */
export type Branch = readonly Header[] | 'unknown' | 'too-long';

/** What follows from a move. The next one is made when this is handled. */
export type Step<U> =
  /** The chain has changed. `isContinuous`: it was followed without a pause before. */
  | {
      readonly kind: 'changed';
      readonly change: ChainChange;
      readonly reporter: U | undefined;
      readonly isContinuous: boolean;
      /** The head before is of another chain, whose blocks watchers have got. */
      readonly isOtherChain: boolean;
    }
  /** Fetch the blocks between `headers` and the head, for watchers until a time, and call `fetched`. */
  | {
      readonly kind: 'fetch';
      readonly head: Header;
      readonly from: U;
      readonly headers: Headers;
      readonly watchedUntil: number | undefined;
    }
  /** Check the chain id of the upstream, and call `verified`. */
  | { readonly kind: 'verify'; readonly upstream: U };

/** A move that waits for the check of its upstream's chain. */
interface UncheckedMove<U> {
  readonly move: Move<U>;
  /** The head of the chain when the check began. */
  readonly before: Header | undefined;
}

/**
 * The chain of headers that subscribers get. It moves from one selected head to the next: it is extended, has a reorg, waits for
 * missing blocks or for the check of a chain id, or restarts with a gap.
 *
 * It moves while the steps of an event are iterated, so that each is handled before the next one is made. Steps have to be iterated to
 * their end for all events: `follow`, `fetched`, `verified` and `left`.
 */
export class FollowedChain<U> {
  readonly ring = new HeaderRing(MAX_HEADERS);
  /** Whether the chain is followed without a pause. */
  isCurrent = false;
  /** Watchers may have missed a change, so that it restarts at the next head. */
  hasMissed = false;
  /** The upstream that reported its head. */
  #reporter: U | undefined;
  /** The upstream that reported its head was found to be on another chain. */
  #isDoubtful = false;
  #gapSince: number | undefined;
  /** The move whose missing blocks are being fetched, and the latest head since. */
  #fetching: Move<U> | undefined;
  #next: Move<U> | undefined;
  /** The latest head of each upstream whose chain is being checked. Heads of others are followed meanwhile. */
  readonly #unchecked = new Map<U, UncheckedMove<U>>();
  /** Moves whose check has ended while blocks are being fetched. */
  #checked: UncheckedMove<U>[] = [];

  get headers(): Headers {
    return this.ring.headers;
  }

  get head(): Header | undefined {
    return this.headers.head;
  }

  /** The move whose missing blocks are being fetched. */
  get fetching(): Move<U> | undefined {
    return this.#fetching;
  }

  /** Moves the chain to a head. While blocks are being fetched, only the latest head waits. */
  follow(move: Move<U>, at: number): Iterable<Step<U>> {
    this.#next = move;
    return this.#continue(at);
  }

  /** The missing blocks of the step `fetch` are there. @param isSelected by them, the head is still the one to follow */
  *fetched(branch: Branch, isSelected: boolean, at: number): Iterable<Step<U>> {
    const move = this.#fetching;
    this.#fetching = undefined;
    if (move !== undefined && isSelected) yield* this.#closeGap(move, branch, at);
    yield* this.#continue(at);
  }

  /** The chain id of the upstream was checked. @param isRight it is that of the network */
  verified(upstream: U, isRight: boolean, at: number): Iterable<Step<U>> {
    const unchecked = this.#unchecked.get(upstream);
    this.#unchecked.delete(upstream);
    if (unchecked !== undefined && isRight) this.#checked.push(unchecked);
    return this.#continue(at);
  }

  /**
   * Excludes upstreams on another chain. If the next head of another one continues the chain, they reported no block of it.
   * Without others, it restarts.
   * @param hadHead the head of one of them was known
   */
  *left(upstreams: readonly U[], hadHead: boolean, hasOthers: boolean): Iterable<Step<U>> {
    this.#checked = this.#checked.filter(({ move }) => !upstreams.includes(move.known.upstream));
    if (this.#next !== undefined && upstreams.includes(this.#next.known.upstream)) this.#next = undefined;
    if (!hadHead) return;
    this.#gapSince = undefined;
    if (this.#reporter === undefined || !upstreams.includes(this.#reporter) || this.head === undefined) return;
    this.#isDoubtful = true;
    if (hasOthers) return;
    this.ring.clear();
    yield this.#changed({ removed: [], added: [], hasGap: true }, undefined);
    this.isCurrent = false;
  }

  /** Whether a header does not continue the chain at a height where it should, so that it may be of another chain. */
  isForeign(header: Header): boolean {
    const { head, oldest } = this.headers;
    const { number, hash, parentHash } = header;
    if (!this.isCurrent || head === undefined || oldest === undefined) return false;
    if (this.headers.has(hash) || this.headers.has(parentHash) || this.ring.hasRemoved(header)) return false;
    if (number > oldest.number && number <= head.number + 1n) return true;
    return number > head.number + BigInt(MAX_HEADERS) || number < oldest.number - BigInt(MAX_HEADERS);
  }

  *#continue(at: number): Iterable<Step<U>> {
    while (this.#fetching === undefined) {
      const move = this.#takeNext();
      if (move === undefined) return;
      const step = this.#moveTo(move, at);
      if (step !== undefined) yield step;
    }
  }

  /** Checked heads are first: a later head does not replace them. */
  #takeNext(): Move<U> | undefined {
    const checked = this.#checked.shift();
    if (checked !== undefined) {
      // The upstreams agreed on it before the chain moved.
      const isConfirmed = checked.move.isConfirmed && this.head === checked.before;
      return { ...checked.move, isConfirmed, isChecked: true };
    }
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  #moveTo(move: Move<U>, at: number): Step<U> | undefined {
    const { head, known, isConfirmed, fills } = move;
    const { upstream: from } = known;
    const { headers, ring } = this;
    const current = headers.head;
    const isHigher = current === undefined || head.number > current.number;
    if (head.hash === current?.hash || (!isHigher && !isConfirmed && !this.#isFork(move, at)))
      return this.isCurrent ? undefined : this.#changed({ removed: [], added: [] }, from);
    if (this.hasMissed) return this.#changed(ring.restartAt(head, at), from);
    if (headers.has(head.hash)) return this.#changed({ removed: ring.cutAbove(head.hash), added: [] }, from);
    if (headers.has(head.parentHash)) return this.#changed(ring.extend([head], at), from);
    if (!this.isCurrent) {
      // Without a response of the upstream about its chain, the next head is tried.
      // What the upstreams have now is compared with it: all have a vote.
      if (current === undefined || move.isChecked === true) return this.#changed(ring.restartAt(head, -Infinity), from);
      return this.#check(move);
    }
    if (fills === 'none' || (fills === 'small' && isLargeGap(head, current)))
      return this.#changed(ring.restartAt(head, at), from);
    this.#gapSince ??= at;
    this.#fetching = move;
    const watchedUntil = fills === 'all' ? this.#gapSince + MAX_GAP_MS : undefined;
    return { kind: 'fetch', head, from, headers, watchedUntil };
  }

  /** The chain of the upstream is checked, and then the head is followed, unless a later one of it is. */
  #check(move: Move<U>): Step<U> | undefined {
    const { upstream } = move.known;
    const isPending = this.#unchecked.has(upstream);
    this.#unchecked.set(upstream, { move, before: this.head });
    return isPending ? undefined : { kind: 'verify', upstream };
  }

  /**
   * Whether a head that is not higher replaces the current one. Two blocks of the same height are a fork, which a later
   * block decides. Until then, only the upstream that reported the current head can replace it, or after a pause any upstream.
   * Of several nodes behind one URL, one may be on an old branch.
   * A lagging upstream reports older blocks of the ring, blocks below it, or of a branch that a reorg removed. Polls decide
   * whether an upstream alone went back to such a branch, because it may be several nodes.
   */
  #isFork({ head, known }: Move<U>, at: number): boolean {
    const current = this.headers.at(head.number);
    if (current === undefined || current.hash === head.hash) return false;
    if (!this.isCurrent) return true;
    if (known.upstream !== this.#reporter || isAlternating(known, at)) return false;
    const isLower = this.head !== undefined && head.number < this.head.number;
    return !isLower || !this.ring.hasRemoved(head);
  }

  *#closeGap(move: Move<U>, branch: Branch, at: number): Iterable<Step<U>> {
    // Nodes behind one URL may lack blocks that the next one has.
    if (branch === 'unknown' && move.fills === 'all' && at - (this.#gapSince ?? at) < MAX_GAP_MS) return;
    const blocks = typeof branch === 'string' ? undefined : branch;
    if (!this.headers.has(blocks?.[0]?.parentHash ?? '') && move.isChecked !== true) {
      const check = this.#check(move);
      if (check !== undefined) yield check;
    } else
      yield this.#changed(
        blocks === undefined ? this.ring.restartAt(move.head, at) : this.ring.extend(blocks, at),
        move.known.upstream,
      );
  }

  #changed(change: ChainChange, reporter: U | undefined): Step<U> {
    const isOtherChain = this.#isDoubtful && (change.removed.length > 0 || change.hasGap === true);
    if (isOtherChain || change.added.length > 0) this.#isDoubtful = false;
    this.#reporter = reporter;
    // The upstreams agreed on it before the chain moved.
    if (this.#next !== undefined) this.#next = { ...this.#next, isConfirmed: false };
    this.#gapSince = undefined;
    this.hasMissed = false;
    const isContinuous = this.isCurrent;
    this.isCurrent = true;
    return { kind: 'changed', change, reporter, isContinuous, isOtherChain };
  }
}

function isLargeGap(head: Header, current: Header | undefined): boolean {
  return current === undefined || head.number - current.number - 1n > MAX_UNWATCHED_GAP;
}
