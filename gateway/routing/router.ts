import type { NetworkHeads } from '../heads/network-heads.ts';
import { createRoutedCall, hasAttempt, type RoutedCall, type UpstreamCall } from './routed-call.ts';
import { Attempts, type Normalise } from './attempts.ts';
import { Route, type RouteParts } from './route.ts';
import { BlockGasLimit } from './block-gas-limit.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { FairQueue } from '../admission/fair-queue.ts';
import { BudgetedSelector } from './budgeted-selector.ts';
import { UpstreamSelector } from './select-upstream.ts';
import { Confirmation } from './confirmation.ts';
import { canSendAgain, exhaustedResponse, isAboveHead, isMissing, pollLagging } from './exhausted.ts';
import { HedgeDelay } from './retry/hedge-delay.ts';
import type { HedgeOptions } from './hedge.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import { promised, type Receiver } from '../upstreams/receiver.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import { MonotonicReads, type BlockIn } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Auditor } from '../audit/auditor.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { Balance, ConfirmNull } from '../network-files/network-config.ts';
import type { FailsafeTable } from './retry/failsafe-table.ts';
import type { MethodRoutes } from '../routing-policy/method-routes.ts';
import type { InspectOptions } from '../upstreams/inspect-result.ts';

interface RouterOptions extends InspectOptions {
  readonly normalise: Normalise;
  readonly blockIn: BlockIn;
  readonly confirmNull: ConfirmNull;
  /** A development chain, whose node may return an error for a transaction that it mines. */
  readonly isDevelopment: boolean;
  /** Which upstreams may get which method. */
  readonly routes: MethodRoutes<Upstream>;
  /** Times and attempts by method. */
  readonly failsafe: FailsafeTable<Upstream>;
  readonly hedgeAfterMs: number | undefined;
  readonly balance: Balance;
  readonly maxLagBlocks: number | undefined;
  readonly metrics: NetworkRoutingMetrics;
  readonly heads: NetworkHeads;
  /** Undefined: no read is audited. */
  readonly audit?: Pick<Auditor, 'sample'> | undefined;
  /** Of the same network before a reload. */
  readonly previous?: Router | undefined;
}

/** The failure of a connection that was closed before a response. */
const noResponse: FailedOutcome = { final: false, failure: 'transport', response: undefined };

/** Routes the calls of one network: selects upstreams, makes attempts, and stops at a final response. */
export class Router {
  readonly all: readonly Upstream[];
  readonly gasLimit: BlockGasLimit;
  readonly selector: UpstreamSelector;
  readonly #options: RouterOptions;
  readonly #sent: SentTransactions;
  readonly #heads: NetworkHeads;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #confirmation: Confirmation;
  readonly #budgeted: BudgetedSelector;
  readonly #hedgeDelay: HedgeDelay | undefined;
  readonly #parts: RouteParts;

  /** @param all upstreams in the order of the network file */
  constructor(all: readonly Upstream[], options: RouterOptions) {
    const { isDevelopment, hedgeAfterMs, failsafe, balance, maxLagBlocks, metrics, heads, routes, previous, log } =
      options;
    this.all = all;
    this.#options = options;
    const headSources = routes.sourcesOf(nodeMethods.blockByNumber);
    const lookups = routes.sourcesOf(nodeMethods.transactionByHash);
    this.#sent = new SentTransactions({ log, all, lookups, isDevelopment }, previous && previous.#sent);
    this.#heads = heads;
    this.#monotonic =
      previous === undefined ? new MonotonicReads<Upstream>(heads, options.blockIn) : previous.#monotonic;
    const selection = { balance, maxLagBlocks, headSources, previous: previous?.selector };
    this.selector = new UpstreamSelector(all, heads, this.#monotonic, selection);
    this.#budgeted = new BudgetedSelector(this.selector, metrics, previous && previous.#budgeted);
    if ((hedgeAfterMs !== undefined || failsafe.hasHedges) && all.length > 1)
      this.#hedgeDelay = new HedgeDelay(hedgeAfterMs, previous && previous.#hedgeDelay);
    this.#confirmation = new Confirmation(this.#monotonic, options.confirmNull, all.length === 1, isDevelopment);
    const attempts = new Attempts({
      normalise: options.normalise,
      checkResult: options.checkResult,
      sent: this.#sent,
      heads,
      canResend: (routedCall, now) =>
        (routedCall.candidates ?? all).length === 1 &&
        hasAttempt(routedCall) &&
        canSendAgain(routedCall, noResponse) &&
        this.#budgeted.takeRetry(now),
      isCandidate: (upstream, method) => routes.candidatesOf(method)?.includes(upstream) !== false,
      isSupported: (method) => all.some(({ methods }) => methods.isSupported(method)),
      onMissingData: (upstream, { method, blocks }, now) => {
        if (method.looksUpHash === true) upstream.blocks.recordMissingHistory(now);
        if (blocks !== undefined) upstream.blocks.recordMissing(method.name, blocks, heads.number, now);
      },
      onResponse: this.#recordResponse.bind(this),
      log,
    });
    this.gasLimit = new BlockGasLimit({
      heads,
      sources: headSources,
      selectNext: (routedCall, now) => this.selector.select(routedCall, now),
      onFailed: (upstream, method, error) => void attempts.recordFailure(upstream, method, error),
    });
    const hedgeOptions: HedgeOptions = {
      attempts,
      selectHedge: (routedCall) => this.#budgeted.selectHedge(routedCall, performance.now()),
      isConclusive: (...response) => !this.#confirmation.isNeeded(...response),
      onHedged: (hasWon) => {
        metrics.hedged(hasWon ? 'won' : 'lost');
      },
      onLost: (upstream, routedCall, startedAt) => {
        attempts.recordOvertaken(upstream, routedCall, startedAt);
      },
    };
    this.#parts = {
      selector: this.selector,
      budgeted: this.#budgeted,
      confirmation: this.#confirmation,
      attempts,
      hedgeDelay: this.#hedgeDelay,
      hedgeOptions,
      metrics,
      mayRespondNow: this.#mayRespondNow.bind(this),
      responseWithoutUpstream: this.#responseWithoutUpstream.bind(this),
      responseAfterFailure: this.#responseAfterFailure.bind(this),
    };
  }

  /**
   * Tries one upstream after the other until a response is final.
   * @param queue the queue that admitted the call; its slot is released at the end
   * @param receiver gets the response, an RpcError if no upstream has a usable one, or Cancelled
   */
  route(call: UpstreamCall, queue: FairQueue | undefined, receiver: Receiver<UpstreamResponse>): void {
    new Route(this.#parts, this.#beginCall(call), queue, receiver).next();
  }

  /** Routes a call of Gatehouse itself. @throws RpcError if no upstream has a usable response */
  request(call: UpstreamCall): Promise<UpstreamResponse> {
    return promised((receiver) => {
      this.route(call, undefined, receiver);
    });
  }

  /** The upstreams that may get requests of Gatehouse itself. */
  sourcesOf(method: string): readonly Upstream[] {
    return this.#options.routes.sourcesOf(method);
  }

  /** The upstreams that all calls skip now. */
  skipReasons(now: number): Map<Upstream, SkipReason> {
    return this.selector.skipReasons(now);
  }

  #beginCall(call: UpstreamCall): RoutedCall {
    const { method, params } = call;
    const candidates = this.#options.routes.candidatesOf(method.name);
    // With one upstream, only blocks, and the blocks of state, are compared.
    const needsBlocks = this.all.length > 1 || method.shape?.type === 'Block' || method.blockAt?.readsState === true;
    const blocks = needsBlocks ? blocksNamedBy(method, params) : undefined;
    const acceptedBy = this.#sent.upstreamFor(method, params);
    return createRoutedCall(call, blocks, acceptedBy, candidates, this.#options.failsafe.of(method));
  }

  /** Waits for upstreams that lag, or that index blocks late. @returns whether one may have a response now */
  async #mayRespondNow(routedCall: RoutedCall): Promise<boolean> {
    if (!hasAttempt(routedCall)) return false;
    if (await pollLagging(routedCall, routedCall.candidates ?? this.all, this.#heads, this.#monotonic)) return true;
    return this.#confirmation.awaitIndex(routedCall, this.#budgeted.takeRetry.bind(this.#budgeted));
  }

  #responseWithoutUpstream(routedCall: RoutedCall, now: number): UpstreamResponse {
    const { unconfirmed, candidates = this.all } = routedCall;
    return unconfirmed === undefined
      ? exhaustedResponse(routedCall, candidates, this.#monotonic, now)
      : this.#confirmation.acceptUnconfirmed(routedCall, unconfirmed, candidates);
  }

  /** The response if the failed attempt was for confirmation, or shows that no other upstream can help; else undefined. */
  #responseAfterFailure(
    routedCall: RoutedCall,
    outcome: FailedOutcome,
    wasClosed: boolean,
  ): UpstreamResponse | undefined {
    const { method, unconfirmed, respondingUpstream } = routedCall;
    const { failure, response } = outcome;
    if (isMissing(outcome) && this.#confirmation.isAtHead(routedCall)) routedCall.isMissingAtHead = true;
    if (unconfirmed !== undefined) {
      if (routedCall.isEvidence) return unconfirmed;
      const isEvidence = failure === 'not-found' && routedCall.isMissingAtHead;
      return isEvidence && !this.#monotonic.hasServedCanonical(routedCall) ? unconfirmed : undefined;
    }
    const wasCircuitOpen = !wasClosed && response === undefined;
    routedCall.failed = [...routedCall.failed, wasCircuitOpen ? { ...outcome, wasCircuitOpen } : outcome];
    const candidates = routedCall.candidates ?? this.all;
    if (!canSendAgain(routedCall, outcome))
      return exhaustedResponse(routedCall, candidates, this.#monotonic, performance.now());
    if (failure === 'no-block' && !method.nullable && respondingUpstream !== undefined)
      return isAboveHead(routedCall, respondingUpstream, this.all, this.#heads, this.#monotonic) ? response : undefined;
    return undefined;
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
    this.#options.audit?.sample(upstream, routedCall, response);
  }
}
