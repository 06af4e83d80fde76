import type { Log } from '../config/log.ts';
import type { NetworkHeads } from '../heads/network-heads.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { ConfirmNull } from '../network-files/network-config.ts';
import { createRoutedCall, type RoutedCall, type UpstreamCall } from './routed-call.ts';
import { Attempts, type Normalise, type ResultCheck } from './attempts.ts';
import { backOff } from './retry/back-off.ts';
import { BlockGasLimit } from './block-gas-limit.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { CallQueue } from './call-queue.ts';
import { BudgetedSelector, UpstreamSelector } from './select-upstream.ts';
import { needsNullConfirmation } from './confirm-null.ts';
import { exhaustedResponse, unsupportedResponse } from './exhausted.ts';
import { isAboveHead } from './no-such-block.ts';
import { HedgeDelay } from './hedge-delay.ts';
import { HedgedCall, type HedgeOptions } from './hedge.ts';
import { UpstreamFailure, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome, Outcome } from '../upstreams/outcome.ts';
import { Sampler } from '../upstreams/sampling.ts';
import { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import { MonotonicReads, type BlockNumberIn } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';

export interface RouterOptions {
  readonly normalise: Normalise;
  readonly checkResult: ResultCheck;
  readonly blockNumberIn: BlockNumberIn;
  readonly confirmNull: ConfirmNull;
  /** A development chain, whose node may return an error for a transaction that it mines. */
  readonly isDevelopment: boolean;
  readonly hedgeAfterMs: number | undefined;
  readonly maxLagBlocks: number | undefined;
  readonly metrics: NetworkRoutingMetrics;
  readonly heads: NetworkHeads;
  readonly log: Log;
  /** Of the same network before a reload. */
  readonly previous?: Router | undefined;
}

/** If no upstream supports a method, one upstream is tried again at this interval. */
const PROBE_INTERVAL_MS = 10_000;

/** Routes the calls of one network: selects upstreams, makes attempts, and stops at a final response. */
export class Router {
  readonly all: readonly Upstream[];
  readonly gasLimit: BlockGasLimit;
  readonly #options: RouterOptions;
  readonly #sent: SentTransactions;
  readonly #heads: NetworkHeads;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #selector: UpstreamSelector;
  readonly #probes = new Sampler(PROBE_INTERVAL_MS);
  readonly #attempts: Attempts;
  readonly #budgeted: BudgetedSelector;
  readonly #hedgeDelay: HedgeDelay | undefined;
  readonly #hedgeOptions: HedgeOptions;

  /** @param all upstreams in the order of the network file */
  constructor(all: readonly Upstream[], options: RouterOptions) {
    const { normalise, checkResult, isDevelopment, hedgeAfterMs, maxLagBlocks, metrics, heads, previous, log } =
      options;
    this.all = all;
    this.#options = options;
    this.#sent = new SentTransactions({ log, all, isDevelopment }, previous === undefined ? undefined : previous.#sent);
    this.#heads = heads;
    this.#monotonic =
      previous === undefined ? new MonotonicReads<Upstream>(heads, options.blockNumberIn) : previous.#monotonic;
    this.#selector = new UpstreamSelector(
      all,
      heads,
      this.#monotonic,
      maxLagBlocks,
      previous === undefined ? undefined : previous.#selector,
    );
    this.#budgeted = new BudgetedSelector(
      this.#selector,
      metrics,
      previous === undefined ? undefined : previous.#budgeted,
    );
    const previousDelay = previous === undefined ? undefined : previous.#hedgeDelay;
    if (hedgeAfterMs !== undefined && all.length > 1) this.#hedgeDelay = new HedgeDelay(hedgeAfterMs, previousDelay);
    this.#attempts = new Attempts({
      normalise,
      checkResult,
      sent: this.#sent,
      canResend: (now) => all.length === 1 && this.#budgeted.takeRetry(now),
      onMissingData: (upstream, routedCall, now) => {
        if (routedCall.method.looksUpHash === true) upstream.blocks.recordMissingHistory(now);
        if (routedCall.blocks !== undefined) {
          upstream.blocks.recordMissing(routedCall.method.name, routedCall.blocks, this.#heads.number, now);
        }
      },
      onResponse: (upstream, routedCall, response, ms, now) => {
        this.#recordResponse(upstream, routedCall, response, ms, now);
      },
      log,
    });
    this.gasLimit = new BlockGasLimit({
      heads,
      all,
      selectNext: (routedCall, now) => this.#selector.select(routedCall, now),
      onFailed: (upstream, method, error) => void this.#attempts.recordFailure(upstream, method, error),
    });
    this.#hedgeOptions = {
      attempt: (upstream, routedCall, cancellation, isHedge) =>
        this.#attempts.attempt(upstream, routedCall, cancellation, isHedge),
      selectHedge: (routedCall) => this.#budgeted.selectHedge(routedCall, performance.now()),
      isConclusive: ({ upstream, outcome }, routedCall) =>
        outcome.final && !this.#needsConfirmation(routedCall, outcome.response, upstream),
      onHedged: (hasWon) => {
        metrics.hedged(hasWon ? 'won' : 'lost');
      },
      onLost: (upstream, { method, group }, startedAt) => {
        const now = performance.now();
        upstream.latencyScore.recordLatency(group, now - startedAt, now);
        // A cancelled attempt never times out. Without this failure, an upstream that does not respond would stay first.
        if (upstream.hasResponded(startedAt)) return;
        this.#attempts.recordFailure(
          upstream,
          method.name,
          new UpstreamFailure('slow', 'the hedged request responded first'),
        );
      },
    };
  }

  /**
   * Tries one upstream after the other until a response is final.
   * @param queue the queue that admitted the call; its place is released at the end
   * @throws RpcError if no upstream has a usable response; Cancelled
   */
  async request(call: UpstreamCall, queue?: CallQueue): Promise<UpstreamResponse> {
    try {
      const { method, deadline } = call;
      const isUnsupported = this.#isUnsupportedByAll(method.name);
      if (isUnsupported && !this.#probes.takeIfDue(method.name, performance.now())) return unsupportedResponse(method);
      const blocks = this.all.length > 1 ? blocksNamedBy(method, call.params) : undefined;
      const acceptedBy = this.#sent.upstreamFor(method.name, call.params);
      const preferred = isUnsupported ? this.#selector.selectLongestMarked(method.name) : acceptedBy;
      const routedCall = createRoutedCall(call, blocks, preferred);
      let unconfirmed: UpstreamResponse | undefined;
      for (;;) {
        const now = performance.now();
        const upstream = this.#budgeted.selectNext(routedCall, now);
        if (unconfirmed !== undefined && upstream?.circuit.isClosed !== true)
          return this.#monotonic.acceptOlder(routedCall, unconfirmed);
        if (upstream === undefined) return exhaustedResponse(routedCall, this.all, this.#monotonic.newestKnown, now);
        if (routedCall.tried.length > 0 && unconfirmed === undefined) this.#options.metrics.failedOver(upstream.name);
        routedCall.tried.push(upstream);
        if (routedCall.failed.length > 0 && !upstream.circuit.isClosed)
          await backOff(routedCall.failed.length, deadline - now);
        const wasClosed = upstream.circuit.isClosed;
        const hedgeMs = this.#hedgeDelay?.delayFor(routedCall, upstream, deadline - now);
        let respondingUpstream = upstream;
        let outcome: Outcome;
        if (hedgeMs === undefined)
          outcome = await this.#attempts.attempt(upstream, routedCall, routedCall.cancellation);
        else
          ({ upstream: respondingUpstream, outcome } = await HedgedCall.run(
            upstream,
            hedgeMs,
            routedCall,
            this.#hedgeOptions,
          ));
        if (outcome.final) {
          const response =
            unconfirmed === undefined ? outcome.response : this.#monotonic.selectNewer(unconfirmed, outcome.response);
          const isUnconfirmed =
            unconfirmed === undefined
              ? this.#needsConfirmation(routedCall, response, respondingUpstream)
              : this.#monotonic.isOlder(routedCall, response);
          if (!isUnconfirmed) return this.all.length > 1 ? this.#monotonic.raiseToServed(method, response) : response;
          unconfirmed = response;
          continue;
        }
        // The attempt for confirmation failed.
        if (unconfirmed !== undefined) return unconfirmed;
        const failedAtOpenCircuit = !wasClosed && outcome.response === undefined;
        routedCall.failed = [
          ...routedCall.failed,
          failedAtOpenCircuit ? { ...outcome, wasCircuitOpen: true } : outcome,
        ];
        const response = this.#responseAfterFailure(routedCall, respondingUpstream, outcome);
        if (response !== undefined) return response;
      }
    } finally {
      queue?.leave();
    }
  }

  /** The newest header of the followed chain. */
  get head(): unknown {
    return this.#heads.head;
  }

  /** The number of the newest block that callers were served. */
  get newestServed(): bigint {
    return this.#monotonic.newest;
  }

  #isUnsupportedByAll(method: string): boolean {
    for (const { methods } of this.all) if (!methods.isUnsupported(method)) return false;
    return true;
  }

  /** The response if the failure shows that no other upstream can help; else undefined. */
  #responseAfterFailure(
    routedCall: RoutedCall,
    respondingUpstream: Upstream,
    { failure, response }: FailedOutcome,
  ): UpstreamResponse | undefined {
    const { method } = routedCall;
    if (failure === 'no-block' && !method.nullable)
      return isAboveHead(routedCall, respondingUpstream, this.all, this.#heads, this.#monotonic) ? response : undefined;
    if (failure !== 'unsupported' || !this.#isUnsupportedByAll(method.name)) return undefined;
    const now = performance.now();
    // This call counts as a probe, if one is due.
    this.#probes.takeIfDue(method.name, now);
    return exhaustedResponse(routedCall, this.all, this.#monotonic.newestKnown, now);
  }

  #needsConfirmation(routedCall: RoutedCall, response: UpstreamResponse, respondingUpstream: Upstream): boolean {
    if (this.all.length === 1) return false;
    if (this.#monotonic.isOlder(routedCall, response)) return true;
    const isBehind = (): boolean =>
      respondingUpstream.blocks.isMissingHistory || this.#monotonic.isLagging(respondingUpstream);
    return needsNullConfirmation(this.#options.confirmNull, routedCall.method, response, isBehind, () =>
      this.#monotonic.hasServed(routedCall),
    );
  }

  #recordResponse(
    upstream: Upstream,
    routedCall: RoutedCall,
    response: UpstreamResponse,
    ms: number,
    now: number,
  ): void {
    if (this.all.length > 1) {
      upstream.latencyScore.recordLatency(routedCall.group, ms, now);
      this.#hedgeDelay?.add(routedCall.method.name, ms, now);
    }
    this.#heads.markUsed(now);
    this.#monotonic.recordServed(upstream, routedCall, response, now);
  }
}
