import type { FairQueue } from '../admission/fair-queue.ts';
import type { KeyShare } from '../admission/key-share.ts';
import type { CachedResponse } from '../cache/response-cache.ts';
import type { FinalChain } from '../cache/final-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { NetworkRangeMetrics } from '../metrics/range-metrics.ts';
import { limitKindOf } from '../normalise/errors/limit-kind.ts';
import type { AttemptObserver, CallObserver } from '../observability/call-observer.ts';
import { admitCall } from '../routing/admit.ts';
import type { CoalescedCalls } from '../routing/coalesce.ts';
import { createRoutedCall, type RangePart } from '../routing/routed-call.ts';
import type { Router } from '../routing/router.ts';
import { lower, type Bounds } from '../spec/bounds.ts';
import { rangeOf } from '../spec/count-params.ts';
import { canCoalesce } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { promised } from '../upstreams/receiver.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import { parseResponse, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import { FailedPart } from './part-failure.ts';
import type { PartCache } from './part-cache.ts';
import type { PartCharges } from './part-requests.ts';
import { hex, readRangeFilter, type RangeFilter } from './range-filter.ts';
import type { RangeLimits } from './range-limits.ts';
import { RangeRun } from './range-run.ts';
import { ReceivedParts } from './received-parts.ts';
import { resolveRange, type FetchBlockOfCall, type ResolvedRange } from './resolve-range.ts';
import { SentRange } from './sent-range.ts';

type Response = UpstreamResponse | CachedResponse;

export interface RangedMethodOptions {
  readonly spec: MethodSpec;
  /** The method that requests a block by its number or tag. */
  readonly blockByNumber: MethodSpec;
  readonly router: Router;
  readonly queue: FairQueue;
  readonly coalesced: CoalescedCalls;
  readonly limits: RangeLimits<Upstream>;
  /** The only upstreams that may get calls of the method; undefined: all. */
  readonly candidates: readonly Upstream[] | undefined;
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
  readonly share: KeyShare;
  /** Of the key. */
  readonly bounds: Bounds | undefined;
  readonly reservation: Reservation | undefined;
  readonly observer: CallObserver | undefined;
  readonly charges: PartCharges;
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
  async request(call: RangedCall): Promise<Response> {
    const { spec, head } = this.#options;
    const { params, text, observer, caller } = call;
    // The call as a whole is not: its parts may be.
    observer?.cached('not-cacheable');
    const filter = readRangeFilter(spec, params);
    if (filter === undefined) return this.#send(params, text, undefined, call, caller, observer);
    const estimate = rangeOf(params[spec.splits ?? 0], head());
    const range = { from: Number(estimate?.from ?? 0n), to: Number(estimate?.to ?? 0n) };
    const first = this.#firstFor(range, filter, call);
    if (first === 'none') return this.#requestInParts(call, filter, undefined);
    const whole = new SentRange(range, first, this.#options.limits, filter);
    try {
      return await this.#send(params, text, whole, call, caller, observer);
    } catch (error) {
      if (!(error instanceof RpcError) || error.reason !== 'request-too-large') throw error;
      return this.#requestInParts(call, filter, error);
    }
  }

  /** The first upstream that allows the range. Undefined: by the ranking alone; `none`: no upstream allows it. */
  #firstFor(range: BlockRange, filter: RangeFilter, call: RangedCall): Upstream | 'none' | undefined {
    const { limits } = this.#options;
    if (limits.isEmpty || blocksIn(range) < 2) return undefined;
    const candidates = this.#candidatesFor(range.from, range.to, call.deadline);
    if (candidates.length === 0) return undefined;
    const now = performance.now();
    return candidates.find((one) => limits.widestFor(one, filter.key, now) >= blocksIn(range)) ?? 'none';
  }

  #candidatesFor(lowest: number, highest: number, deadline: number): Upstream[] {
    const { spec, router, candidates } = this.#options;
    const call = { method: spec, params: [], text: '', deadline };
    const routedCall = createRoutedCall(call, { lowest, highest, readsState: false }, undefined, candidates);
    return router.selector.candidatesFor(routedCall, performance.now());
  }

  /** @param refusal the error of the call as it was sent; undefined: it was not sent */
  async #requestInParts(call: RangedCall, filter: RangeFilter, refusal: RpcError | undefined): Promise<Response> {
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
      return await this.#send(call.params, call.text, undefined, call, cancellation, call.observer);
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
    const { limits, cache, bounds, router, metrics, candidates = router.all } = this.#options;
    const { share, deadline, reservation, observer, charges } = call;
    const maxResponseBytes = lower(bounds.maxResponseBytes, call.bounds?.maxResponseBytes);
    const received = new ReceivedParts(resolved, { reservation, maxResponseBytes });
    const run = new RangeRun({
      ...{ filter, limits, received, cache, share, deadline, cancellation, observer, charges },
      countPart: metrics.partSent,
      onSplit: metrics.split,
      isFinal: (block) => this.#isFinal(block),
      candidatesAt: (block) => this.#candidatesFor(block, block, deadline),
      capacityWaitMs: () => capacityWaitMs(candidates, performance.now()),
      send: (params, part, observed) => this.#send(params, JSON.stringify(params), part, call, cancellation, observed),
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
    return this.#options.final?.includes(BigInt(block), performance.now()) === true;
  }

  #blockFetcher({ deadline }: RangedCall, caller: Cancellation): FetchBlockOfCall {
    const { router, queue, blockByNumber: method } = this.#options;
    return async (block) => {
      const params = [block, false];
      const call = { method, params, text: JSON.stringify(params), deadline, caller };
      const response = parseResponse(
        await promised<UpstreamResponse>((receiver) => {
          admitCall(router, queue, call, receiver);
        }),
      );
      if (response.kind === 'error') throw new FailedPart(response);
      const { number, hash } = (response.result ?? {}) as { readonly number?: unknown; readonly hash?: unknown };
      return typeof number === 'string' && typeof hash === 'string' ? { number: Number(number), hash } : undefined;
    };
  }

  #send(
    params: readonly unknown[],
    text: string,
    range: RangePart | undefined,
    { deadline, share }: RangedCall,
    caller: Cancellation,
    observer: AttemptObserver | undefined,
  ): Promise<Response> {
    const { spec, router, queue, coalesced } = this.#options;
    const request = (cancellation: Cancellation): Promise<UpstreamResponse> =>
      promised((receiver) => {
        const call = { method: spec, params, text, deadline, caller: cancellation, observer, range };
        admitCall(router, queue, call, receiver);
      });
    if (canCoalesce(spec))
      return coalesced.request(`${spec.name} ${text}`, { deadline, caller, owner: share }, request, observer);
    const own = new Cancellation(share);
    caller.add(own);
    return request(own).finally(() => {
      caller.delete(own);
    });
  }
}

/** @returns undefined if no upstream has limits */
function capacityWaitMs(candidates: readonly Upstream[], now: number): number | undefined {
  const waits = candidates.flatMap(({ limits }) => limits?.waitMs(now) ?? []);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
