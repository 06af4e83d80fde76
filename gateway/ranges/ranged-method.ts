import { clock } from '../clock/clock.ts';
import type { CallerShare } from '../admission/key-share.ts';
import type { CompleteResponse, NetworkResponse } from '../cache/response-cache.ts';
import type { FinalChain } from '../cache/final-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { NetworkRangeMetrics } from '../metrics/routing-metrics.ts';
import { limitKindOf } from '../normalise/errors/limit-kind.ts';
import type { CallRecord } from '../observability/call-record.ts';
import { lower, type Bounds } from '../spec/bounds.ts';
import { rangeOf } from '../spec/count-params.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import { parseResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import { FailedPart } from './part-failure.ts';
import type { PartCache } from './part-cache.ts';
import type { PartCharges } from './part-requests.ts';
import {
  hex,
  readRangeFilter,
  resolveRange,
  type FetchBlockOfCall,
  type RangeFilter,
  type ResolvedRange,
} from './range-filter.ts';
import { MAX_PARTS, type RangeLimits } from './range-limits.ts';
import { RangeRun } from './range-run.ts';
import { ReceivedParts } from './received-parts.ts';
import { SentRange } from './sent-range.ts';

export interface RangedMethodOptions {
  readonly spec: MethodSpec;
  /** The method that requests a block by its number or tag. */
  readonly blockByNumber: MethodSpec;
  readonly limits: RangeLimits<Upstream>;
  /** The upstreams that may get calls of the method. */
  readonly candidates: readonly Upstream[];
  readonly head: () => bigint | undefined;
  /** Of the network. */
  readonly bounds: Bounds;
  readonly final: FinalChain | undefined;
  readonly cache: PartCache | undefined;
  readonly metrics: NetworkRangeMetrics;
}

/** A call of a caller. */
export interface RangedCall {
  readonly params: readonly unknown[];
  /** `params` as JSON text. */
  readonly text: string;
  readonly deadline: number;
  readonly caller: Cancellation;
  readonly share: CallerShare;
  /** Of the key. */
  readonly bounds: Bounds | undefined;
  readonly reservation: Reservation | undefined;
  readonly record: CallRecord | undefined;
  readonly charges: PartCharges;
  readonly sender: RangeSender;
  /** Its parts are proven, which cached parts are not. */
  readonly isVerified: boolean;
}

/** Sends what a call with a range needs. Each function rejects with RpcError or Cancelled. */
export interface RangeSender {
  /** The upstreams to which a call for these blocks can be sent now. */
  readonly candidatesFor: (lowest: number, highest: number) => Upstream[];
  /** Sends the call as it is. @param range undefined: it has no known size */
  readonly sendWhole: (range: SentRange | undefined) => Promise<NetworkResponse>;
  /** @param text `params` as JSON text @param range undefined: it has no known size */
  readonly sendPart: (
    params: readonly unknown[],
    text: string,
    range: SentRange | undefined,
    caller: Cancellation,
    record: CallRecord | undefined,
  ) => Promise<CompleteResponse>;
  /** @param block a number or tag */
  readonly fetchBlock: (
    blockByNumber: MethodSpec,
    block: string,
    cancellation: Cancellation,
  ) => Promise<UpstreamResponse>;
}

/**
 * Serves one method whose filter has a block range. A call is sent as it is while an upstream allows its range, and in parts
 * otherwise; then nothing is returned before all parts have arrived from one chain.
 */
export class RangedMethod {
  readonly #options: RangedMethodOptions;

  constructor(options: RangedMethodOptions) {
    this.#options = options;
  }

  /** @throws RpcError, Cancelled (rejects with it) */
  async request(call: RangedCall): Promise<NetworkResponse> {
    const { spec, head } = this.#options;
    const { params, record, sender } = call;
    // The call as a whole is not: its parts may be.
    record?.cached('not-cacheable');
    const filter = readRangeFilter(spec, params);
    if (filter === undefined) return sender.sendWhole(undefined);
    const estimate = rangeOf(params[spec.splits ?? 0], head());
    const range = { from: Number(estimate?.from ?? 0n), to: Number(estimate?.to ?? 0n) };
    this.#checkParts(range, call);
    const first = this.#firstFor(range, filter, call);
    if (first === 'none') return this.#requestInParts(call, filter, undefined);
    const whole = new SentRange(range, first, this.#options.limits, filter);
    try {
      return await sender.sendWhole(whole);
    } catch (error) {
      if (!(error instanceof RpcError) || error.reason !== 'request-too-large') throw error;
      this.#checkParts(range, call);
      return this.#requestInParts(call, filter, error);
    }
  }

  /** @throws RpcError if the range has too many parts */
  #checkParts(range: BlockRange, call: RangedCall): void {
    const { limits } = this.#options;
    if (limits.isEmpty || blocksIn(range) <= MAX_PARTS) return;
    const candidates = call.sender.candidatesFor(range.from, range.to);
    if (candidates.length > 0) limits.checkParts(candidates, range, clock.now());
  }

  /** The first upstream that allows the range. Undefined: by the ranking alone; `none`: no upstream allows it. */
  #firstFor(range: BlockRange, filter: RangeFilter, call: RangedCall): Upstream | 'none' | undefined {
    const { limits } = this.#options;
    if (limits.isEmpty || blocksIn(range) < 2) return undefined;
    const candidates = call.sender.candidatesFor(range.from, range.to);
    if (candidates.length === 0) return undefined;
    const now = clock.now();
    return candidates.find((one) => limits.widestFor(one, filter.key, now) >= blocksIn(range)) ?? 'none';
  }

  /** @param refusal the error of the call as it was sent; undefined: it was not sent */
  async #requestInParts(
    call: RangedCall,
    filter: RangeFilter,
    refusal: RpcError | undefined,
  ): Promise<NetworkResponse> {
    if (refusal !== undefined && limitKindOf(refusal.message) === 'none') throw refusal;
    const cancellation = new Cancellation(call.share);
    call.caller.add(cancellation);
    try {
      const fetch = this.#blockFetcher(call, cancellation);
      const resolving = resolveRange(filter, fetch, (block) => this.#isFinal(block));
      const resolved = await resolving.catch((error: unknown) => {
        throw refusal === undefined || error instanceof Cancelled ? (error as Error) : refusal;
      });
      if (resolved.to >= resolved.from) return await this.#run(call, filter, resolved, fetch, cancellation, refusal);
      if (refusal !== undefined) throw refusal;
      return await call.sender.sendPart(call.params, call.text, undefined, cancellation, call.record);
    } catch (error) {
      if (error instanceof FailedPart) return error.response;
      throw error;
    } finally {
      call.caller.delete(cancellation);
    }
  }

  async #run(
    call: RangedCall,
    filter: RangeFilter,
    resolved: ResolvedRange,
    fetch: FetchBlockOfCall,
    cancellation: Cancellation,
    refusal: RpcError | undefined,
  ): Promise<UpstreamResponse> {
    const { limits, cache, bounds, metrics, candidates } = this.#options;
    const { share, deadline, reservation, record, charges, sender } = call;
    const maxResponseBytes = lower(bounds.maxResponseBytes, call.bounds?.maxResponseBytes);
    const received = new ReceivedParts(resolved, { reservation, maxResponseBytes });
    const run = new RangeRun({
      ...{
        range: resolved,
        filter,
        limits,
        received,
        cache: call.isVerified ? undefined : cache,
        share,
        deadline,
        cancellation,
        record,
        charges,
      },
      countPart: metrics.partSent,
      onSplit: metrics.split,
      isFinal: (block) => this.#isFinal(block),
      candidatesAt: (block) => sender.candidatesFor(block, block),
      capacityWaitMs: () => capacityWaitMs(candidates, clock.now()),
      send: (params, part, ofPart) => sender.sendPart(params, JSON.stringify(params), part, cancellation, ofPart),
    });
    try {
      const range = { from: resolved.from, to: resolved.to };
      if (refusal === undefined) {
        metrics.split('learned');
        run.add(range);
      } else run.addRefused(range, refusal);
      await run.work();
      let { hash } = resolved;
      for (let isRepeated = false; hash !== undefined; isRepeated = true) {
        const last = await fetch(hex(resolved.to));
        if (last?.hash === hash) break;
        if (isRepeated || last === undefined)
          throw new RpcError('no-upstream', `the chain changed during the request: block ${hex(resolved.to)}`);
        ({ hash } = last);
        for (const removed of received.removeUnfinal()) run.add(removed);
        await run.work();
      }
      return received.join();
    } catch (error) {
      received.clear();
      throw error;
    }
  }

  #isFinal(block: number): boolean {
    return this.#options.final?.includes(BigInt(block), clock.now()) === true;
  }

  #blockFetcher({ sender }: RangedCall, cancellation: Cancellation): FetchBlockOfCall {
    return async (block) => {
      const response = parseResponse(await sender.fetchBlock(this.#options.blockByNumber, block, cancellation));
      if (response.kind === 'error') throw new FailedPart(response);
      const { number, hash } = (response.result ?? {}) as { readonly number?: unknown; readonly hash?: unknown };
      return typeof number === 'string' && typeof hash === 'string' ? { number: Number(number), hash } : undefined;
    };
  }
}

/** @returns undefined if no upstream has limits */
function capacityWaitMs(candidates: readonly Upstream[], now: number): number | undefined {
  const waits = candidates.flatMap(({ limits }) => limits?.waitMs(now) ?? []);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
