import { clock } from '../clock/clock.ts';
import type { FoundPart, PartCache } from './part-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { SplitReason } from '../metrics/routing-metrics.ts';
import { limitKindOf } from '../normalise/errors/limit-kind.ts';
import type { CallRecord } from '../observability/call-record.ts';
import { UpstreamsAtLimit } from '../upstreams/upstream-limits.ts';
import { Cancelled } from '../upstreams/transport/cancellation.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { isTimeOver, partFailure } from './part-failure.ts';
import { countElements } from './list-bytes.ts';
import { PartRequests, type PartRequestsOptions } from './part-requests.ts';
import { narrowerThan } from './part-widths.ts';
import { blocksIn, PendingRanges, type BlockRange } from './pending-ranges.ts';
import type { RangeLimits } from './range-limits.ts';
import { SentRange, type CountPart } from './sent-range.ts';

export interface RangeRunOptions extends PartRequestsOptions {
  readonly range: BlockRange;
  readonly limits: RangeLimits<Upstream>;
  /** Undefined: parts are not cached. */
  readonly cache: PartCache | undefined;
  readonly record: CallRecord | undefined;
  readonly countPart: CountPart;
  /** A range was divided after an upstream refused it. */
  readonly onSplit: (reason: SplitReason) => void;
  readonly isFinal: (block: number) => boolean;
  /** The upstreams to which a call for one block can be sent. */
  readonly candidatesAt: (block: number) => readonly Upstream[];
  /** Time until an upstream has capacity again; undefined: no upstream has limits. */
  readonly capacityWaitMs: () => number | undefined;
}

/** Requests of one run at once, for each upstream that can have parts. */
const MAX_PER_UPSTREAM = 4;
const MAX_AT_ONCE = 16;
/** Blocks of a part if no upstream can have it now: the router decides. */
const UNPLANNED_BLOCKS = 1_000;
/** The caller may disconnect during the wait. */
const MAX_WAIT_MS = 500;

/**
 * Requests the parts of one range: several at once within the concurrency of the key, each first from the upstream with
 * the fewest parts in progress, in the width that it allows. Parts that are refused are divided.
 */
export class RangeRun {
  readonly #options: RangeRunOptions;
  readonly #pending = new PendingRanges();
  readonly #inProgress = new Map<Upstream, number>();
  #workers = 0;
  #maxWorkers = 1;
  /** Lowered when the upstreams are at their limits. */
  #maxAtOnce = MAX_AT_ONCE;
  readonly #requests: PartRequests;
  #addressesPerCall: number;
  /** Parts that upstreams returned. */
  #returned = 0;
  #failure: unknown;

  constructor(options: RangeRunOptions) {
    this.#options = options;
    this.#requests = new PartRequests(options);
    this.#addressesPerCall = options.filter.addresses.length;
  }

  /** Adds a range that was refused, in smaller parts. @throws RpcError if there are none */
  addRefused(range: BlockRange, refusal: RpcError): void {
    this.#divide(range, this.#addressesPerCall, refusal);
  }

  add(range: BlockRange): void {
    this.#pending.add({ ...range, maxBlocks: Infinity });
  }

  /** Resolves when all added ranges are received. @throws RpcError, FailedPart, Cancelled (rejects with it) */
  async work(): Promise<void> {
    const { share } = this.#options;
    const others: Promise<void>[] = [];
    // The first worker has the slot of the request, each other one its own.
    const addWorkers = (): void => {
      while (this.#workers < this.#maxWorkers && this.#pending.lowest !== undefined && share.requests.tryEnter(share)) {
        const ended = this.#workUntilEmpty(addWorkers);
        others.push(
          ended.finally(() => {
            share.requests.leave(share);
          }),
        );
      }
    };
    await this.#workUntilEmpty(addWorkers);
    for (const other of others) await other;
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** Never rejects. After the first failure, all parts in progress are cancelled. */
  async #workUntilEmpty(addWorkers: () => void): Promise<void> {
    this.#workers++;
    try {
      for (let part = this.#next(); part !== undefined; part = this.#next()) {
        const ended = this.#request(part);
        addWorkers();
        await ended;
        if (this.#workers > this.#maxAtOnce) return;
        await timeSlicer.next();
      }
    } catch (error) {
      this.#failure ??= error;
      this.#options.cancellation.cancel();
    } finally {
      this.#workers--;
    }
  }

  /** The next part that is not cached. Undefined: there is none, or the run has failed. */
  #next(): SentRange | undefined {
    const { cache, filter } = this.#options;
    for (;;) {
      const { lowest } = this.#pending;
      if (lowest === undefined || this.#failure !== undefined) return undefined;
      const cached = cache?.findAtStart(filter, lowest, clock.now());
      if (cached === undefined) return this.#cutPart(lowest);
      this.#addCached(this.#pending.takeLowest(cached.to), cached);
    }
  }

  #addCached(range: BlockRange, { elements }: FoundPart): void {
    const { received, record } = this.#options;
    received.add({ ...range, elements, isFinal: true });
    const ofPart = record?.part(range.from, range.to);
    ofPart?.cached('hit');
    ofPart?.ended({ outcome: 'result', results: countElements(elements) });
  }

  /** Upstreams that do not have the oldest blocks get parts from the newest ones. @throws RpcError */
  #cutPart(lowest: BlockRange): SentRange {
    const { candidatesAt, limits, filter, range } = this.#options;
    const atStart = candidatesAt(lowest.from);
    const atEnd = candidatesAt(this.#pending.highest?.to ?? lowest.to).filter((one) => !atStart.includes(one));
    const candidates = [...atStart, ...atEnd];
    const maxWorkers = Math.min(this.#maxAtOnce, MAX_PER_UPSTREAM * Math.max(1, candidates.length));
    this.#maxWorkers = limits.isSettled ? maxWorkers : 1;
    let first: Upstream | undefined;
    for (const one of candidates) if (first === undefined || this.#loadOf(one) < this.#loadOf(first)) first = one;
    const now = clock.now();
    // Before the first part, the width is not known yet. Later, work would be lost: `PartRequests` counts the parts.
    if (first !== undefined && limits.isSettled && this.#returned <= 1) limits.checkParts(candidates, range, now);
    const maxBlocks = first === undefined ? UNPLANNED_BLOCKS : limits.widestFor(first, filter.key, now);
    const part =
      first === undefined || atStart.includes(first)
        ? this.#pending.takeFirstPart(maxBlocks)
        : this.#pending.takeLastPart(maxBlocks);
    return new SentRange(part, first, limits, filter, this.#options.countPart);
  }

  #loadOf(upstream: Upstream): number {
    return this.#inProgress.get(upstream) ?? 0;
  }

  async #request(part: SentRange): Promise<void> {
    const { first } = part;
    // Before the first wait, because other workers select their upstreams by it.
    if (first !== undefined) this.#inProgress.set(first, this.#loadOf(first) + 1);
    try {
      await this.#findOrSend(part);
    } finally {
      if (first !== undefined) this.#inProgress.set(first, this.#loadOf(first) - 1);
    }
  }

  async #findOrSend(part: SentRange): Promise<void> {
    const { cache, filter, received, record } = this.#options;
    const { range } = part;
    const isFinal = this.#options.isFinal(range.to);
    const found = isFinal ? await cache?.findDurable(filter, range) : undefined;
    if (found !== undefined) {
      this.#addCached(range, found);
      return;
    }
    const addressesPerCall = this.#addressesPerCall;
    const ofPart = record?.part(range.from, range.to);
    const generation = cache?.generation;
    let elements: Buffer;
    try {
      elements = await this.#requests.elementsOf(part, addressesPerCall, ofPart);
    } catch (error) {
      ofPart?.ended({ outcome: outcomeOf(error) });
      await this.#handleFailure(error, range, addressesPerCall);
      return;
    }
    this.#returned++;
    ofPart?.ended({ outcome: 'result', results: countElements(elements) });
    received.add({ ...range, elements, isFinal });
    part.recordBytes(elements.length);
    if (isFinal && cache?.generation === generation) cache?.store(filter, range, elements);
  }

  /** @throws RpcError if the part cannot be requested again */
  async #handleFailure(error: unknown, range: BlockRange, addressesPerCall: number): Promise<void> {
    const { received, deadline } = this.#options;
    if (error instanceof RpcError && error.reason === 'request-too-large') this.#divide(range, addressesPerCall, error);
    else if (error instanceof UpstreamsAtLimit && (await this.#waitForCapacity()))
      this.#pending.add({ ...range, maxBlocks: Infinity });
    else if (isTimeOver(error, deadline)) throw received.beyond('the time for one call is over');
    else throw received.memoryError(partFailure(error, range));
  }

  /**
   * All upstreams are at their limits: this worker ends, or waits if it is the last one.
   * @returns false if the upstreams have no limits, or if there is no time
   */
  async #waitForCapacity(): Promise<boolean> {
    const waitMs = this.#options.capacityWaitMs();
    if (waitMs === undefined || clock.now() + waitMs >= this.#options.deadline) return false;
    this.#maxAtOnce = Math.max(1, this.#workers - 1);
    if (this.#workers === 1) await clock.sleep(Math.min(waitMs, MAX_WAIT_MS));
    return true;
  }

  /** Adds a part that was refused, in smaller parts. @throws RpcError if there are none */
  #divide(range: BlockRange, addressesPerCall: number, refusal: RpcError): void {
    const kind = limitKindOf(refusal.message);
    const blocks = blocksIn(range);
    const maxBlocks = narrowerThan(blocks);
    if (addressesPerCall > 1 && (kind === 'addresses' || maxBlocks === 0)) {
      this.#addressesPerCall = Math.min(this.#addressesPerCall, Math.ceil(addressesPerCall / 2));
      this.#pending.add({ ...range, maxBlocks: blocks });
    } else if (kind === 'none' || maxBlocks === 0) throw partFailure(refusal, range);
    else this.#pending.add({ ...range, maxBlocks });
    this.#options.onSplit(kind);
  }
}

/** The reason of the split if the part was refused. */
function outcomeOf(error: unknown): string {
  if (error instanceof Cancelled) return 'cancelled';
  if (!(error instanceof RpcError)) return 'upstream-error';
  return error.reason === 'request-too-large' ? `too-large:${limitKindOf(error.message)}` : error.reason;
}
