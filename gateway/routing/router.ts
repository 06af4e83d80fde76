import type { NetworkHeads } from '../heads/network-heads.ts';
import { createRoutedCall, hasAttempt, type RoutedCall, type UpstreamCall } from './routed-call.ts';
import { Attempts } from './attempts.ts';
import type { RouterOptions } from './router-options.ts';
import { backOff } from './retry/back-off.ts';
import { BlockGasLimit } from './block-gas-limit.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { FairQueue } from '../admission/fair-queue.ts';
import { gatehouse } from '../admission/fair-slots.ts';
import { BudgetedSelector } from './budgeted-selector.ts';
import { isUnsupportedByAll, UpstreamSelector } from './select-upstream.ts';
import { Confirmation } from './confirmation.ts';
import {
  canSendAgain,
  exhaustedResponse,
  isAboveHead,
  isMissing,
  pollLagging,
  unsupportedResponse,
} from './exhausted.ts';
import { HedgeDelay } from './hedge-delay.ts';
import { HedgedCall, type HedgeOptions } from './hedge.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { Sampler } from '../upstreams/sampling.ts';
import { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import { MonotonicReads } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** The failure of a connection that was closed before a response. */
const noResponse: FailedOutcome = { final: false, failure: 'transport', response: undefined };

/** If no upstream supports a method, one upstream is tried again at this interval. */
const PROBE_INTERVAL_MS = 10_000;

/** Routes the calls of one network: selects upstreams, makes attempts, and stops at a final response. */
export class Router {
  readonly all: readonly Upstream[];
  readonly gasLimit: BlockGasLimit;
  readonly selector: UpstreamSelector;
  readonly #options: RouterOptions<Router>;
  readonly #sent: SentTransactions;
  readonly #heads: NetworkHeads;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #probes = new Sampler(PROBE_INTERVAL_MS);
  readonly #confirmation: Confirmation;
  readonly #attempts: Attempts;
  readonly #budgeted: BudgetedSelector;
  readonly #hedgeDelay: HedgeDelay | undefined;
  readonly #hedgeOptions: HedgeOptions;

  /** @param all upstreams in the order of the network file */
  constructor(all: readonly Upstream[], options: RouterOptions<Router>) {
    const { isDevelopment, balance, maxLagBlocks, metrics, heads, routes, previous, log } = options;
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
    const { hedgeAfterMs, failsafe } = options;
    if ((hedgeAfterMs !== undefined || failsafe.hasHedges) && all.length > 1)
      this.#hedgeDelay = new HedgeDelay(hedgeAfterMs, previous && previous.#hedgeDelay);
    this.#confirmation = new Confirmation(this.#monotonic, options.confirmNull, all.length === 1, isDevelopment);
    this.#attempts = new Attempts({
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
      onFailed: (upstream, method, error) => void this.#attempts.recordFailure(upstream, method, error),
    });
    this.#hedgeOptions = {
      attempt: (upstream, routedCall, cancellation, isHedge) =>
        this.#attempts.attempt(upstream, routedCall, cancellation, isHedge),
      selectHedge: (routedCall) => this.#budgeted.selectHedge(routedCall, performance.now()),
      isConclusive: (...response) => !this.#confirmation.isNeeded(...response),
      onHedged: (hasWon) => {
        metrics.hedged(hasWon ? 'won' : 'lost');
      },
      onLost: (upstream, routedCall, startedAt) => {
        this.#attempts.recordOvertaken(upstream, routedCall, startedAt);
      },
    };
  }

  /**
   * Tries one upstream after the other until a response is final.
   * @param queue the queue that admitted the call; its slot is released at the end
   * @throws RpcError if no upstream has a usable response; Cancelled
   */
  async request(call: UpstreamCall, queue?: FairQueue): Promise<UpstreamResponse> {
    try {
      const routedCall = this.#beginCall(call);
      if (routedCall === undefined) return unsupportedResponse(call.method);
      for (;;) {
        const poll = this.selector.catchUp(routedCall, performance.now());
        if (poll !== undefined) await poll;
        const now = performance.now();
        const upstream = this.#budgeted.selectNext(routedCall, now) ?? this.#selectAgain(routedCall, now);
        if (upstream === undefined) {
          if (!routedCall.isEvidence && (await this.#mayRespondNow(routedCall))) continue;
          return this.#responseWithoutUpstream(routedCall, now);
        }
        this.#beginAttempt(routedCall, upstream, now);
        const remainingMs = routedCall.deadline - now;
        if (routedCall.failed.length > 0 && !upstream.circuit.isClosed)
          await backOff(routedCall.failed.length, remainingMs);
        const wasClosed = upstream.circuit.isClosed;
        const hedgeMs = this.#hedgeDelay?.delayFor(routedCall, upstream, remainingMs);
        const outcome = await (hedgeMs === undefined
          ? this.#attempts.attempt(upstream, routedCall, routedCall.cancellation)
          : HedgedCall.run(upstream, hedgeMs, routedCall, this.#hedgeOptions));
        const response = outcome.final
          ? this.#confirmation.confirm(routedCall, outcome.response)
          : this.#responseAfterFailure(routedCall, outcome, wasClosed);
        if (response !== undefined) return response;
      }
    } finally {
      queue?.leave(call.caller?.owner ?? gatehouse);
    }
  }

  /** The upstreams that may get requests of Gatehouse itself. */
  sourcesOf(method: string): readonly Upstream[] {
    return this.#options.routes.sourcesOf(method);
  }

  /** The upstreams that all calls skip now. */
  skipReasons(now: number): Map<Upstream, SkipReason> {
    return this.selector.skipReasons(now);
  }

  /** Undefined: no upstream supports the method, and no probe of it is due. */
  #beginCall(call: UpstreamCall): RoutedCall | undefined {
    const { method, params } = call;
    const candidates = this.#options.routes.candidatesOf(method.name);
    const isUnsupported = isUnsupportedByAll(method.name, candidates ?? this.all);
    if (isUnsupported && !this.#probes.takeIfDue(method.name, performance.now())) return undefined;
    // With one upstream, only blocks, and the blocks of state, are compared.
    const needsBlocks = this.all.length > 1 || method.shape?.type === 'Block' || method.blockAt?.readsState === true;
    const blocks = needsBlocks ? blocksNamedBy(method, params) : undefined;
    const acceptedBy = this.#sent.upstreamFor(method, params);
    const preferred = isUnsupported ? this.selector.selectLongestMarked(method.name, candidates) : acceptedBy;
    return createRoutedCall(call, blocks, preferred, candidates, this.#options.failsafe.of(method));
  }

  #beginAttempt(routedCall: RoutedCall, upstream: Upstream, now: number): void {
    const { tried, unconfirmed } = routedCall;
    if (tried.length > 0 && unconfirmed === undefined) this.#options.metrics.failedOver(upstream.name);
    tried.push(upstream);
    routedCall.attempts++;
    routedCall.respondingUpstream = upstream;
    routedCall.askedAt = now;
  }

  #selectAgain(routedCall: RoutedCall, now: number): Upstream | undefined {
    return this.#confirmation.canRepeat(routedCall) ? this.#budgeted.selectAgain(routedCall, now) : undefined;
  }

  /** Waits for upstreams that lag, or that index blocks late. @returns whether one may have a response now */
  async #mayRespondNow(routedCall: RoutedCall): Promise<boolean> {
    if (!hasAttempt(routedCall)) return false;
    if (await pollLagging(routedCall, routedCall.candidates ?? this.all, this.#heads, this.#monotonic)) return true;
    return this.#confirmation.awaitIndex(routedCall, this.#budgeted.takeRetry.bind(this.#budgeted));
  }

  #responseWithoutUpstream(routedCall: RoutedCall, now: number): UpstreamResponse {
    const { unconfirmed } = routedCall;
    return unconfirmed === undefined
      ? exhaustedResponse(routedCall, routedCall.candidates ?? this.all, this.#monotonic, now)
      : this.#confirmation.acceptUnconfirmed(routedCall, unconfirmed);
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
    const now = performance.now();
    if (!canSendAgain(routedCall, outcome)) return exhaustedResponse(routedCall, candidates, this.#monotonic, now);
    if (failure === 'no-block' && !method.nullable && respondingUpstream !== undefined)
      return isAboveHead(routedCall, respondingUpstream, this.all, this.#heads, this.#monotonic) ? response : undefined;
    if (failure !== 'unsupported' || !isUnsupportedByAll(method.name, candidates)) return undefined;
    // This call counts as a probe, if one is due.
    this.#probes.takeIfDue(method.name, now);
    return exhaustedResponse(routedCall, candidates, this.#monotonic, now);
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
