import type { Log } from '../config/log.ts';
import type { NetworkHeads } from '../heads/network-heads.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { ConfirmNull } from '../network-files/network-config.ts';
import { createRoutedCall, type RoutedCall, type UpstreamCall } from './routed-call.ts';
import { Attempts, MIN_ATTEMPT_MS, type Normalise, type ResultCheck } from './attempts.ts';
import { backOff } from './retry/back-off.ts';
import { BlockGasLimit } from './block-gas-limit.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { CallQueue } from './call-queue.ts';
import { UpstreamSelector } from './select-upstream.ts';
import { needsNullConfirmation } from './confirm-null.ts';
import { exhaustedResponse, unsupported } from './exhausted.ts';
import { isAboveHead } from './no-such-block.ts';
import { HedgeDelay } from './hedge-delay.ts';
import { HedgedCall, type HedgeOptions } from './hedge.ts';
import { UpstreamFailure, type UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome, Outcome } from '../upstreams/outcome.ts';
import { RetryBudget } from './retry/retry-budget.ts';
import { Sampler } from '../upstreams/sampling.ts';
import { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import { MonotonicReads, type BlockNumberIn, type OnServed } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';

export interface RouterOptions {
  readonly normalise: Normalise;
  readonly checkResult: ResultCheck;
  readonly blockNumberIn: BlockNumberIn;
  readonly onServed: OnServed;
  readonly confirmNull: ConfirmNull;
  /** A chain of one developer, whose node may answer with an error and mine the transaction all the same. */
  readonly isDevelopment: boolean;
  readonly hedgeAfterMs: number | undefined;
  readonly maxLagBlocks: number | undefined;
  readonly metrics: NetworkRoutingMetrics;
  readonly heads: NetworkHeads;
  readonly log: Log;
  /** Of the same network before its file was changed. */
  readonly previous?: Router | undefined;
}

/** An error that no rule knows gets one more try elsewhere, then it is passed on. */
const MAX_UNKNOWN_ERRORS = 2;
/** Where all upstreams are marked as lacking a method, one of them is asked once in so much time. */
const TRIAL_EVERY_MS = 10_000;

/** The nodes of one network, and how a call gets from one to the next. */
export class Router {
  readonly all: readonly Upstream[];
  readonly gasLimit: BlockGasLimit;
  readonly #options: RouterOptions;
  readonly #sent: SentTransactions;
  readonly #heads: NetworkHeads;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #selector: UpstreamSelector;
  readonly #trials = new Sampler(TRIAL_EVERY_MS);
  readonly #attempts: Attempts;
  readonly #budget: RetryBudget;
  readonly #hedgeDelay: HedgeDelay | undefined;
  readonly #hedgeOptions: HedgeOptions;

  /** @param all as the network's file has them */
  constructor(all: readonly Upstream[], options: RouterOptions) {
    const { normalise, checkResult, isDevelopment, hedgeAfterMs, maxLagBlocks, metrics, heads, previous, log } =
      options;
    this.all = all;
    this.#options = options;
    this.#sent = new SentTransactions({ log, all, isDevelopment }, previous === undefined ? undefined : previous.#sent);
    this.#heads = heads;
    this.#monotonic =
      previous === undefined
        ? new MonotonicReads<Upstream>(heads, options.blockNumberIn, options.onServed)
        : previous.#monotonic;
    this.#selector = new UpstreamSelector(
      all,
      heads,
      this.#monotonic,
      maxLagBlocks,
      previous === undefined ? undefined : previous.#selector,
    );
    this.#budget = previous === undefined ? new RetryBudget() : previous.#budget;
    const previousDelay = previous === undefined ? undefined : previous.#hedgeDelay;
    if (hedgeAfterMs !== undefined && all.length > 1) this.#hedgeDelay = new HedgeDelay(hedgeAfterMs, previousDelay);
    this.#attempts = new Attempts({
      normalise,
      checkResult,
      sent: this.#sent,
      canResend: (now) => all.length === 1 && this.#canRetry(now),
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
      onFailed: (upstream, method, error) => void this.#attempts.failed(upstream, method, error),
    });
    this.#hedgeOptions = {
      attempt: (upstream, routedCall, cancellation, isHedge) =>
        this.#attempts.attempt(upstream, routedCall, cancellation, isHedge),
      selectHedge: (routedCall) => this.#selectHedge(routedCall),
      isConclusive: ({ upstream, verdict }, routedCall) =>
        verdict.final && !this.#needsConfirmation(routedCall, verdict.response, upstream),
      onHedged: (hasWon) => {
        metrics.hedged(hasWon ? 'won' : 'lost');
      },
      onLost: (upstream, { method, group }, startedAt) => {
        const now = performance.now();
        upstream.latencyScore.recordSuccess(group, now - startedAt, now);
        // Broken off, it never times out: without this, one that is gone would have to be hedged for ever.
        if (upstream.hasResponded(startedAt)) return;
        this.#attempts.failed(upstream, method.name, new UpstreamFailure('slow', 'another one was quicker'));
      },
    };
  }

  /**
   * Asks one upstream after the other until one gives the last word.
   * @param queue that it has entered, and leaves then
   * @throws RpcError when none could answer, Cancelled
   */
  async request(call: UpstreamCall, queue?: CallQueue): Promise<UpstreamResponse> {
    try {
      const { method, deadline } = call;
      const isMarked = this.#isUnsupportedByAll(method.name);
      if (isMarked && !this.#trials.isDue(method.name, performance.now())) return unsupported(method);
      const blocks = this.all.length > 1 ? blocksNamedBy(method, call.params) : undefined;
      const taker = this.#sent.upstreamFor(method.name, call.params);
      const routedCall = createRoutedCall(call, blocks, isMarked ? this.#selector.longestMarked(method.name) : taker);
      let unconfirmed: UpstreamResponse | undefined;
      for (;;) {
        const now = performance.now();
        if (routedCall.tried.length === 0) this.#budget.countCall(now);
        const upstream = this.#selectNext(routedCall, now);
        if (unconfirmed !== undefined && upstream?.circuit.isClosed !== true)
          return this.#monotonic.acceptOlder(routedCall, unconfirmed);
        if (upstream === undefined) return exhaustedResponse(routedCall, this.all, this.newestServed, now);
        if (routedCall.tried.length > 0 && unconfirmed === undefined) this.#options.metrics.failedOver(upstream.name);
        routedCall.tried.push(upstream);
        if (routedCall.failed.length > 0 && !upstream.circuit.isClosed)
          await backOff(routedCall.failed.length, deadline - now);
        const { isClosed: isUp } = upstream.circuit;
        const hedgeMs = this.#hedgeDelay?.delayFor(routedCall, upstream, deadline - now);
        let respondent = upstream;
        let verdict: Outcome;
        if (hedgeMs === undefined)
          verdict = await this.#attempts.attempt(upstream, routedCall, routedCall.cancellation);
        else
          ({ upstream: respondent, verdict } = await HedgedCall.run(upstream, hedgeMs, routedCall, this.#hedgeOptions));
        if (verdict.final) {
          const upstreamResponse =
            unconfirmed === undefined ? verdict.response : this.#monotonic.newer(unconfirmed, verdict.response);
          const isUnconfirmed =
            unconfirmed === undefined
              ? this.#needsConfirmation(routedCall, upstreamResponse, respondent)
              : this.#monotonic.isOlder(routedCall, upstreamResponse);
          if (!isUnconfirmed)
            return this.all.length > 1 ? this.#monotonic.raiseToServed(method, upstreamResponse) : upstreamResponse;
          unconfirmed = upstreamResponse;
          continue;
        }
        // Whom we asked for a second opinion had none.
        if (unconfirmed !== undefined) return unconfirmed;
        const isLastResort = !isUp && verdict.response === undefined;
        routedCall.failed = [...routedCall.failed, isLastResort ? { ...verdict, wasDown: true } : verdict];
        const response = this.#responseAfter(routedCall, respondent, verdict);
        if (response !== undefined) return response;
      }
    } finally {
      queue?.leave();
    }
  }

  /** The network's head, as it was looked at last. */
  get head(): unknown {
    return this.#heads.head;
  }

  /** The number of the newest block that callers may know of. */
  get newestServed(): bigint {
    return this.#monotonic.newest;
  }

  #isUnsupportedByAll(method: string): boolean {
    for (const { methods } of this.all) if (!methods.isUnsupported(method)) return false;
    return true;
  }

  /** The response where a failure shows that to ask another upstream is useless. */
  #responseAfter(
    routedCall: RoutedCall,
    respondent: Upstream,
    { failure, response }: FailedOutcome,
  ): UpstreamResponse | undefined {
    const { method } = routedCall;
    if (failure === 'no-block' && !method.nullable)
      return isAboveHead(routedCall, respondent, this.all, this.#heads, this.#monotonic) ? response : undefined;
    if (failure !== 'unsupported' || !this.#isUnsupportedByAll(method.name)) return undefined;
    const now = performance.now();
    this.#trials.isDue(method.name, now);
    return exhaustedResponse(routedCall, this.all, this.newestServed, now);
  }

  /** Whom to ask, if anybody: there is time for it, it may change the outcome, and the budget allows it. */
  #selectNext(routedCall: RoutedCall, now: number): Upstream | undefined {
    const { tried: requested, failed, deadline, method } = routedCall;
    const isFirst = requested.length === 0;
    if (deadline - now <= (isFirst ? 0 : MIN_ATTEMPT_MS)) return undefined;
    if (failed.length > 1 && failed.filter(({ failure }) => failure === 'unknown').length >= MAX_UNKNOWN_ERRORS) {
      return undefined;
    }
    const upstream = this.#selector.select(routedCall, now);
    if (isFirst || upstream === undefined) return upstream;
    if (upstream.circuit.isClosed || method.sends === true) {
      this.#budget.countExtra();
      return upstream;
    }
    if (this.#canRetry(now)) return upstream;
    routedCall.observer?.budgetExceeded('retry');
    // One that works may come after it, marked or not.
    return this.#selector.working(routedCall, now);
  }

  #canRetry(now: number): boolean {
    const canRetry = this.#budget.takeExtra(now);
    if (!canRetry) this.#options.metrics.budgetExceeded('retry');
    return canRetry;
  }

  #selectHedge(routedCall: RoutedCall): Upstream | undefined {
    const now = performance.now();
    const upstream = this.#selector.selectHedge(routedCall, now);
    if (upstream === undefined) return undefined;
    if (!this.#budget.takeExtra(now)) {
      this.#options.metrics.budgetExceeded('hedge');
      routedCall.observer?.budgetExceeded('hedge');
      return undefined;
    }
    this.#options.metrics.hedged('started');
    routedCall.tried.push(upstream);
    return upstream;
  }

  #needsConfirmation(routedCall: RoutedCall, response: UpstreamResponse, respondent: Upstream): boolean {
    if (this.all.length === 1) return false;
    if (this.#monotonic.isOlder(routedCall, response)) return true;
    const isBehind = (): boolean => respondent.blocks.isMissingHistory || this.#monotonic.isLagging(respondent);
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
      upstream.latencyScore.recordSuccess(routedCall.group, ms, now);
      this.#hedgeDelay?.add(routedCall.method.name, ms, now);
    }
    this.#heads.markUsed(now);
    this.#monotonic.recordServed(upstream, routedCall, response, now);
  }
}
