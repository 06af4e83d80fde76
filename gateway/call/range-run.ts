import { clock } from '../clock/clock.ts';
import type { CompleteResponse, NetworkResponse } from '../cache/response-cache.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { limitKindOf } from '../normalise/errors/limit-kind.ts';
import { mergeLogs } from '../normalise/results/merge-logs.ts';
import type { CallRecord } from '../observability/call-record.ts';
import { bytesOf, countElements, elementsIn } from '../ranges/list-bytes.ts';
import type { FoundPart, PartCache } from '../ranges/part-cache.ts';
import { narrowerThan } from '../ranges/part-widths.ts';
import { blocksIn, PendingRanges, type BlockRange } from '../ranges/pending-ranges.ts';
import {
  hex,
  resolveRange,
  type FetchBlockOfCall,
  type RangeFilter,
  type ResolvedRange,
} from '../ranges/range-filter.ts';
import { MAX_PARTS, TOO_MANY_PARTS } from '../ranges/range-limits.ts';
import type { RangedMethod } from '../ranges/ranged-method.ts';
import { ReceivedParts } from '../ranges/received-parts.ts';
import { SentRange } from '../ranges/sent-range.ts';
import { lower } from '../spec/bounds.ts';
import { Cancelled, Cancellation } from '../upstreams/transport/cancellation.ts';
import {
  MIN_ATTEMPT_MS,
  parseResponse,
  type ErrorResponse,
  type UpstreamResponse,
} from '../upstreams/transport/upstream-response.ts';
import { UpstreamsAtLimit } from '../upstreams/upstream-limits.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { RangeCall } from './range-call.ts';

/** Requests of one run at once, for each upstream that can have parts. */
const MAX_PER_UPSTREAM = 4;
const MAX_AT_ONCE = 16;
/** Blocks of a part if no upstream can have it now: the router decides. */
const UNPLANNED_BLOCKS = 1_000;
/** The caller may disconnect during the wait. */
const MAX_WAIT_MS = 500;

/** The error of an upstream for a part, which is the response to the whole request. */
class FailedPart extends Error {
  override readonly name = 'FailedPart';
  readonly response: ErrorResponse;

  constructor(response: ErrorResponse) {
    super(response.message);
    this.response = response;
  }
}

/**
 * Sends a call in parts.
 * @param refusal the error of the call as it was sent; undefined: it was not sent
 * @throws RpcError, Cancelled (rejects with it)
 */
export async function requestInParts(
  method: RangedMethod,
  request: RangeCall,
  filter: RangeFilter,
  refusal: RpcError | undefined,
): Promise<NetworkResponse> {
  if (refusal !== undefined && limitKindOf(refusal.message) === 'none') throw refusal;
  const { call, context } = request;
  const cancellation = new Cancellation(context.access.account);
  context.caller.add(cancellation);
  try {
    const fetch: FetchBlockOfCall = (block) => fetchBlock(method, request, cancellation, block);
    const resolving = resolveRange(filter, fetch, (block) => isFinal(method, block));
    const range = await resolving.catch((error: unknown) => {
      throw refusal === undefined || error instanceof Cancelled ? (error as Error) : refusal;
    });
    if (range.to >= range.from) return await new RangeRun(method, request, filter, range, cancellation).run(refusal);
    if (refusal !== undefined) throw refusal;
    return await request.sendPart(call.params, call.text, undefined, cancellation, call.record);
  } catch (error) {
    if (error instanceof FailedPart) return error.response;
    throw error;
  } finally {
    context.caller.delete(cancellation);
  }
}

function isFinal({ final }: RangedMethod, block: number): boolean {
  return final?.includes(BigInt(block), clock.now()) === true;
}

async function fetchBlock(
  { blockByNumber }: RangedMethod,
  request: RangeCall,
  cancellation: Cancellation,
  block: string,
): ReturnType<FetchBlockOfCall> {
  const response = parseResponse(await request.fetchBlock(blockByNumber, block, cancellation));
  if (response.kind === 'error') throw new FailedPart(response);
  const { number, hash } = (response.result ?? {}) as { readonly number?: unknown; readonly hash?: unknown };
  return typeof number === 'string' && typeof hash === 'string' ? { number: Number(number), hash } : undefined;
}

/**
 * Requests the parts of one range: several at once within the concurrency of the key, each first from the upstream with
 * the fewest parts in progress, in the width that it allows. Parts that are refused are divided. Nothing is returned before
 * all parts have arrived from one chain.
 */
class RangeRun {
  readonly #method: RangedMethod;
  readonly #request: RangeCall;
  readonly #filter: RangeFilter;
  readonly #range: ResolvedRange;
  readonly #cancellation: Cancellation;
  /** Cache of parts; undefined: they are not cached. */
  readonly #cache: PartCache | undefined;
  readonly #received: ReceivedParts;
  readonly #pending = new PendingRanges();
  /** Parts in progress by the upstream that is to get them. */
  readonly #inProgress = new Map<Upstream, number>();
  /** Calls of parts in progress. */
  readonly #calls = new Set<Promise<unknown>>();
  #sent = 0;
  #workers = 0;
  #maxWorkers = 1;
  /** Maximum at once, which is lowered when the upstreams are at their limits. */
  #maxAtOnce = MAX_AT_ONCE;
  #addressesPerCall: number;
  /** Parts that upstreams returned. */
  #returned = 0;
  /** The range has not too many parts of the width that was returned. */
  #isWidthChecked = false;
  #failure: unknown;

  constructor(
    method: RangedMethod,
    request: RangeCall,
    filter: RangeFilter,
    range: ResolvedRange,
    cancellation: Cancellation,
  ) {
    this.#method = method;
    this.#request = request;
    this.#filter = filter;
    this.#range = range;
    this.#cancellation = cancellation;
    const { call, context } = request;
    // Cached parts are not proven.
    this.#cache = call.verification === undefined ? method.cache : undefined;
    const maxResponseBytes = lower(method.bounds.maxResponseBytes, context.access.bounds?.maxResponseBytes);
    this.#received = new ReceivedParts(range, { reservation: context.reservation, maxResponseBytes });
    this.#addressesPerCall = filter.addresses.length;
  }

  /** @throws RpcError, FailedPart, Cancelled (rejects with it) */
  async run(refusal: RpcError | undefined): Promise<UpstreamResponse> {
    try {
      const { from, to } = this.#range;
      if (refusal !== undefined) this.#divide({ from, to }, this.#addressesPerCall, refusal);
      else {
        this.#method.metrics.split('learned');
        this.#add({ from, to });
      }
      await this.#work();
      let { hash } = this.#range;
      for (let isRepeated = false; hash !== undefined; isRepeated = true) {
        const last = await fetchBlock(this.#method, this.#request, this.#cancellation, hex(to));
        if (last?.hash === hash) break;
        if (isRepeated || last === undefined)
          throw new RpcError('no-upstream', `the chain changed during the request: block ${hex(to)}`);
        ({ hash } = last);
        for (const removed of this.#received.removeUnfinal()) this.#add(removed);
        await this.#work();
      }
      return this.#received.join();
    } catch (error) {
      this.#received.clear();
      throw error;
    }
  }

  #add({ from, to }: BlockRange): void {
    this.#pending.add({ from, to, maxBlocks: Infinity });
  }

  /** Resolves when all added ranges are received. @throws RpcError, FailedPart, Cancelled (rejects with it) */
  async #work(): Promise<void> {
    const { account } = this.#request.context.access;
    const others: Promise<void>[] = [];
    // The first worker has the slot of the request, each other one its own.
    const addWorkers = (): void => {
      while (
        this.#workers < this.#maxWorkers &&
        this.#pending.lowest !== undefined &&
        account.requests.tryEnter(account)
      ) {
        const ended = this.#workUntilEmpty(addWorkers);
        others.push(
          ended.finally(() => {
            account.requests.leave(account);
          }),
        );
      }
    };
    await this.#workUntilEmpty(addWorkers);
    for (const other of others) await other;
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** Works until no part is left, and never rejects. After the first failure, all parts in progress are cancelled. */
  async #workUntilEmpty(addWorkers: () => void): Promise<void> {
    this.#workers++;
    try {
      for (let part = this.#next(); part !== undefined; part = this.#next()) {
        const ended = this.#requestPart(part);
        addWorkers();
        await ended;
        if (this.#workers > this.#maxAtOnce) return;
        await timeSlicer.next();
      }
    } catch (error) {
      this.#failure ??= error;
      this.#cancellation.cancel();
    } finally {
      this.#workers--;
    }
  }

  /** The next part that is not cached. Undefined: there is none, or the run has failed. */
  #next(): SentRange | undefined {
    for (;;) {
      const { lowest } = this.#pending;
      if (lowest === undefined || this.#failure !== undefined) return undefined;
      const cached = this.#cache?.findAtStart(this.#filter, lowest, clock.now());
      if (cached === undefined) return this.#cutPart(lowest);
      this.#addCached(this.#pending.takeLowest(cached.to), cached);
    }
  }

  #addCached(range: BlockRange, { elements }: FoundPart): void {
    this.#received.add({ ...range, elements, isFinal: true });
    const ofPart = this.#request.call.record?.part(range.from, range.to);
    ofPart?.cached('hit');
    ofPart?.ended({ outcome: 'result', results: countElements(elements) });
  }

  /** Upstreams that do not have the oldest blocks get parts from the newest ones. @throws RpcError */
  #cutPart(lowest: BlockRange): SentRange {
    const { limits, metrics } = this.#method;
    const candidatesAt = (block: number): Upstream[] => this.#request.candidatesFor(block, block);
    const atStart = candidatesAt(lowest.from);
    const atEnd = candidatesAt(this.#pending.highest?.to ?? lowest.to).filter((one) => !atStart.includes(one));
    const candidates = [...atStart, ...atEnd];
    const maxWorkers = Math.min(this.#maxAtOnce, MAX_PER_UPSTREAM * Math.max(1, candidates.length));
    this.#maxWorkers = limits.isSettled ? maxWorkers : 1;
    let first: Upstream | undefined;
    for (const one of candidates) if (first === undefined || this.#loadOf(one) < this.#loadOf(first)) first = one;
    const now = clock.now();
    // Before the first part, the width may not be known yet. Later, work would be lost: `#send` counts the parts.
    if (first !== undefined && !this.#isWidthChecked && (limits.isSettled || this.#returned > 0)) {
      limits.checkParts(candidates, this.#range, now);
      this.#isWidthChecked = this.#returned > 0;
    }
    const maxBlocks = first === undefined ? UNPLANNED_BLOCKS : limits.widestFor(first, this.#filter.key, now);
    const part =
      first === undefined || atStart.includes(first)
        ? this.#pending.takeFirstPart(maxBlocks)
        : this.#pending.takeLastPart(maxBlocks);
    return new SentRange(part, first, limits, this.#filter, metrics);
  }

  #loadOf(upstream: Upstream): number {
    return this.#inProgress.get(upstream) ?? 0;
  }

  async #requestPart(part: SentRange): Promise<void> {
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
    const { range } = part;
    const wasFinal = isFinal(this.#method, range.to);
    const found = wasFinal ? await this.#cache?.findDurable(this.#filter, range) : undefined;
    if (found !== undefined) {
      this.#addCached(range, found);
      return;
    }
    const addressesPerCall = this.#addressesPerCall;
    const ofPart = this.#request.call.record?.part(range.from, range.to);
    const generation = this.#cache?.generation;
    let elements: Buffer;
    try {
      elements = await this.#elementsOf(part, addressesPerCall, ofPart);
    } catch (error) {
      ofPart?.ended({ outcome: outcomeOf(error) });
      await this.#handleFailure(error, range, addressesPerCall);
      return;
    }
    this.#returned++;
    ofPart?.ended({ outcome: 'result', results: countElements(elements) });
    this.#received.add({ ...range, elements, isFinal: wasFinal });
    part.recordBytes(elements.length);
    if (wasFinal && this.#cache?.generation === generation) this.#cache?.store(this.#filter, range, elements);
  }

  /** The elements of the list of a part. @throws RpcError, FailedPart, Cancelled (rejects with it) */
  async #elementsOf(part: SentRange, addressesPerCall: number, record: CallRecord | undefined): Promise<Buffer> {
    const elements =
      this.#filter.addresses.length <= addressesPerCall
        ? elementsIn(bytesOf(await this.#send(part, undefined, record)))
        : await this.#mergedElements(part, addressesPerCall, record);
    if (elements === undefined) throw new RpcError('no-upstream', 'an upstream returned a result that is not a list');
    return elements;
  }

  /** One group of addresses at a time: the part has one slot of the key. */
  async #mergedElements(part: SentRange, perCall: number, record: CallRecord | undefined): Promise<Buffer | undefined> {
    const { addresses } = this.#filter;
    const lists: Buffer[] = [];
    try {
      for (let at = 0; at < addresses.length; at += perCall) {
        const list = bytesOf(await this.#send(part, addresses.slice(at, at + perCall), record));
        this.#received.take(list.length);
        lists.push(list);
      }
      return await mergeLogs(lists, this.#request.context.access.account.payer.name);
    } finally {
      for (const { length } of lists) this.#received.giveBack(length);
    }
  }

  async #send(
    part: SentRange,
    addresses: readonly string[] | undefined,
    record: CallRecord | undefined,
  ): Promise<CompleteResponse> {
    if (++this.#sent > MAX_PARTS) throw this.#received.beyond(TOO_MANY_PARTS);
    const params = this.#filter.paramsOf(part.range, addresses);
    await this.#charge(params);
    const sent = this.#request.sendPart(params, JSON.stringify(params), part, this.#cancellation, record);
    this.#calls.add(sent);
    try {
      const response = await sent;
      if (response.kind === 'error')
        throw new FailedPart({ ...response, message: withRange(response.message, part.range) });
      return response;
    } catch (error) {
      if (error instanceof RpcError && error.reason === 'request-too-large') this.#request.charges.refund(params);
      throw error;
    } finally {
      this.#calls.delete(sent);
    }
  }

  /** Waits until the rate limit of the key allows the call. @throws RpcError if it does not before the deadline */
  async #charge(params: readonly unknown[]): Promise<void> {
    const { charges, call } = this.#request;
    for (;;) {
      const shortage = await charges.charge(params);
      if (this.#cancellation.isCancelled) throw new Cancelled();
      if (shortage === undefined) return;
      const { reason, waitS = Infinity } = shortage;
      if (clock.now() + 1_000 * waitS >= call.deadline) {
        // The rejection names the range that has arrived.
        await Promise.allSettled(this.#calls);
        await clock.sleep(0);
        throw this.#received.beyond(new RpcError(reason).message);
      }
      await clock.sleep(Math.min(1_000 * waitS, MAX_WAIT_MS));
    }
  }

  /** @throws RpcError if the part cannot be requested again */
  async #handleFailure(error: unknown, range: BlockRange, addressesPerCall: number): Promise<void> {
    if (error instanceof RpcError && error.reason === 'request-too-large') this.#divide(range, addressesPerCall, error);
    else if (error instanceof UpstreamsAtLimit && (await this.#waitForCapacity())) this.#add(range);
    else if (this.#isTimeOver(error)) throw this.#received.beyond('the time for one call is over');
    else throw this.#received.memoryError(partFailure(error, range));
  }

  /** Whether an error is due to the deadline: then upstreams had no time to respond. */
  #isTimeOver(error: unknown): boolean {
    const isOfUpstreams = error instanceof RpcError && error.reason === 'no-upstream';
    return isOfUpstreams && clock.now() + MIN_ATTEMPT_MS >= this.#request.call.deadline;
  }

  /**
   * All upstreams are at their limits: this worker ends, or waits if it is the last one.
   * @returns false if the upstreams have no limits, or if there is no time
   */
  async #waitForCapacity(): Promise<boolean> {
    const now = clock.now();
    const waits = this.#method.candidates.flatMap(({ limits }) => limits?.waitMs ?? []);
    const waitMs = Math.min(...waits);
    if (now + waitMs >= this.#request.call.deadline) return false;
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
    this.#method.metrics.split(kind);
  }
}

/** The reason of the split if the part was refused. */
function outcomeOf(error: unknown): string {
  if (error instanceof Cancelled) return 'cancelled';
  if (!(error instanceof RpcError)) return 'upstream-error';
  return error.reason === 'request-too-large' ? `too-large:${limitKindOf(error.message)}` : error.reason;
}

/** The failure of the whole request because of one part, which its message names. Other errors stay as they are. */
function partFailure(failure: unknown, range: BlockRange): unknown {
  if (!(failure instanceof RpcError)) return failure;
  const { reason, retryAfterS } = failure;
  if (reason !== 'no-upstream' && reason !== 'node-state' && reason !== 'request-too-large') return failure;
  return new RpcError(reason, withRange(failure.message, range), retryAfterS === undefined ? {} : { retryAfterS });
}

function withRange(message: string, { from, to }: BlockRange): string {
  return `${message} (fromBlock ${hex(from)}, toBlock ${hex(to)})`;
}
