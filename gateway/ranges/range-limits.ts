import { LRUCache } from 'lru-cache';
import { expiringEntries } from '../config/max-entries.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { LimitKind } from '../normalise/errors/limit-kind.ts';
import { blocksFrom } from '../spec/bounds.ts';
import { endOfParts, narrowerThan, widerThan } from './part-widths.ts';
import type { BlockRange } from './pending-ranges.ts';

/** Parts that are sent for one request, those that were refused included. */
export const MAX_PARTS = 1_000;
/** The problem of a request that needs more. */
export const TOO_MANY_PARTS = `the upstreams allow only parts of the range, and it has more than ${MAX_PARTS}`;

/** Time after which the upstream may have other limits. */
const LIMIT_TTL_MS = 600_000;
const MAX_FILTERS = 1_000;
/** A part may be wider if the result would still be smaller than the largest one that the upstream returned. */
const MAX_GROWTH = 2.5;

/** The narrowest range that was refused. */
interface Refusal {
  readonly blocks: number;
  readonly deadline: number;
  /** Time until which a range with more than `MAX_PARTS` parts is not sent: the upstream has refused one since the deadline. */
  readonly rejectsUntil: number;
}

/**
 * Learns for one method of one network which ranges each upstream allows: from errors about the range for all filters, and
 * from errors about the result for the filter of the request, because filters differ in the number of results.
 */
export class RangeLimits<U extends object> {
  readonly #byUpstream = new WeakMap<U, Refusal>();
  readonly #byFilter = new LRUCache<string, Map<U, Refusal>>(expiringEntries(MAX_FILTERS, LIMIT_TTL_MS));
  /** Bytes of the largest result of upstreams that refused one. */
  readonly #largestResults = new WeakMap<U, number>();
  #isEmpty = true;
  #isSettled = true;

  /** Whether no upstream has refused a range yet. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Whether a range was returned since the last narrower one was refused. Until then, many parts at once would be refused. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** The widest range that the upstream allows for the filter, as far as is known. */
  widestFor(upstream: U, filter: string, now: number): number {
    const ofUpstream = widestBelow(this.#byUpstream.get(upstream), now);
    return Math.min(ofUpstream, widestBelow(this.#byFilter.get(filter)?.get(upstream), now));
  }

  /**
   * Checks the parts. Only errors about the range show that a request cannot be served: elsewhere, a filter may have fewer
   * results.
   * @param candidates that may serve the range, one or more
   * @throws RpcError if it has too many parts for each of them
   */
  checkParts(candidates: readonly U[], { from, to }: BlockRange, now: number): void {
    let last = -Infinity;
    for (const one of candidates) {
      const refusal = this.#byUpstream.get(one);
      if (refusal === undefined || now >= Math.max(refusal.deadline, refusal.rejectsUntil)) return;
      last = Math.max(last, endOfParts(from, widthBelow(refusal), MAX_PARTS));
    }
    if (to > last)
      throw new RpcError('beyond-bound', `${TOO_MANY_PARTS}; ${blocksFrom(BigInt(from), last - from + 1)} would fit`);
  }

  recordRefused(upstream: U, filter: string, kind: LimitKind, blocks: number, now: number): void {
    if (blocks <= 1 || kind === 'none' || kind === 'addresses') return;
    this.#isEmpty = false;
    const ofFilter = this.#byFilter.get(filter) ?? new Map<U, Refusal>();
    const refusals = kind === 'range' ? this.#byUpstream : ofFilter;
    const previous = refusals.get(upstream);
    const until = now + LIMIT_TTL_MS;
    const isKnown = previous !== undefined && now < previous.deadline && previous.blocks <= blocks;
    if (previous !== undefined && now >= previous.deadline && blocks > MAX_PARTS * widthBelow(previous))
      refusals.set(upstream, { ...previous, rejectsUntil: until });
    else {
      refusals.set(upstream, { blocks: isKnown ? previous.blocks : blocks, deadline: until, rejectsUntil: until });
      if (!isKnown) this.#isSettled = false;
    }
    if (kind === 'results') this.#byFilter.set(filter, ofFilter);
  }

  /** Records a result. If it is far smaller than what the upstream returned before, wider parts are tried. */
  recordReturned(upstream: U, filter: string, blocks: number, bytes: number): void {
    this.#isSettled = true;
    const refusal = this.#byFilter.get(filter)?.get(upstream);
    if (refusal === undefined) return;
    const largest = Math.max(bytes, this.#largestResults.get(upstream) ?? 0);
    this.#largestResults.set(upstream, largest);
    const isWidest = MAX_GROWTH * blocks > narrowerThan(refusal.blocks);
    if (isWidest && MAX_GROWTH * bytes < largest)
      this.#byFilter.get(filter)?.set(upstream, { ...refusal, blocks: widerThan(refusal.blocks) });
  }
}

function widestBelow(refusal: Refusal | undefined, now: number): number {
  return refusal === undefined || now >= refusal.deadline ? Infinity : widthBelow(refusal);
}

function widthBelow({ blocks }: Refusal): number {
  return Math.max(1, narrowerThan(blocks));
}
