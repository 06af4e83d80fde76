import type { FairQueue } from '../admission/fair-queue.ts';
import { gatehouse } from '../admission/fair-slots.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { FailedOutcome, Outcome } from '../upstreams/outcome.ts';
import type { Receiver } from '../upstreams/receiver.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Attempts } from './attempts.ts';
import type { BudgetedSelector } from './budgeted-selector.ts';
import type { Confirmation } from './confirmation.ts';
import { HedgedCall, type HedgeOptions } from './hedge.ts';
import { backOff } from './retry/back-off.ts';
import type { HedgeDelay } from './retry/hedge-delay.ts';
import type { RoutedCall } from './routed-call.ts';
import type { UpstreamSelector } from './select-upstream.ts';

/** What all routes of one network share. */
export interface RouteParts {
  readonly selector: UpstreamSelector;
  readonly budgeted: BudgetedSelector;
  readonly confirmation: Confirmation;
  readonly attempts: Attempts;
  /** Undefined: no call is hedged. */
  readonly hedgeDelay: HedgeDelay | undefined;
  readonly hedgeOptions: HedgeOptions;
  readonly metrics: NetworkRoutingMetrics;
  /** Waits for upstreams that may have a response soon. @returns whether one may have it now */
  readonly mayRespondNow: (routedCall: RoutedCall) => Promise<boolean>;
  /** @throws RpcError */
  readonly responseWithoutUpstream: (routedCall: RoutedCall, now: number) => UpstreamResponse;
  /** The response if the failed attempt shows that no other upstream can help; else undefined. @throws RpcError */
  readonly responseAfterFailure: (
    routedCall: RoutedCall,
    outcome: FailedOutcome,
    wasClosed: boolean,
  ) => UpstreamResponse | undefined;
}

/**
 * The way of one call in flight over the upstreams: select one, make an attempt, judge its outcome, and so on until a
 * response is final. The steps call each other; only those that wait use a promise. A call that is successful at the
 * first upstream uses none.
 */
export class Route implements Receiver<Outcome> {
  readonly #parts: RouteParts;
  readonly #routedCall: RoutedCall;
  readonly #queue: FairQueue | undefined;
  readonly #receiver: Receiver<UpstreamResponse>;
  /** Whether the circuit of the attempt's upstream was closed. */
  #wasClosed = true;

  /**
   * @param queue the queue that admitted the call; its slot is released at the end
   * @param receiver gets the response, an RpcError if no upstream has a usable one, or Cancelled
   */
  constructor(
    parts: RouteParts,
    routedCall: RoutedCall,
    queue: FairQueue | undefined,
    receiver: Receiver<UpstreamResponse>,
  ) {
    this.#parts = parts;
    this.#routedCall = routedCall;
    this.#queue = queue;
    this.#receiver = receiver;
  }

  /** First step: polls of upstreams that may be behind. */
  next(): void {
    try {
      const now = performance.now();
      const poll = this.#parts.selector.catchUp(this.#routedCall, now);
      if (poll === undefined) this.#select(now);
      else void this.#selectAfter(poll);
    } catch (error) {
      this.failed(error);
    }
  }

  async #selectAfter(poll: Promise<void>): Promise<void> {
    try {
      await poll;
      this.#select(performance.now());
    } catch (error) {
      this.failed(error);
    }
  }

  /** Second step: the upstream of the attempt. */
  #select(now: number): void {
    const { budgeted, confirmation, metrics } = this.#parts;
    const routedCall = this.#routedCall;
    let upstream = budgeted.selectNext(routedCall, now);
    if (upstream === undefined && confirmation.canRepeat(routedCall)) upstream = budgeted.selectAgain(routedCall, now);
    if (upstream === undefined) {
      void this.#endWithoutUpstream(now);
      return;
    }
    const { tried, unconfirmed } = routedCall;
    if (tried.length > 0 && unconfirmed === undefined) metrics.failedOver(upstream.name);
    routedCall.tried = [...tried, upstream];
    routedCall.attempts++;
    routedCall.respondingUpstream = upstream;
    routedCall.askedAt = now;
    const remainingMs = routedCall.deadline - now;
    if (routedCall.failed.length === 0 || upstream.circuit.isClosed) this.#send(upstream, remainingMs);
    else void this.#sendAfterBackOff(upstream, remainingMs);
  }

  async #endWithoutUpstream(now: number): Promise<void> {
    const { mayRespondNow, responseWithoutUpstream } = this.#parts;
    let response: UpstreamResponse | undefined;
    try {
      if (this.#routedCall.isEvidence || !(await mayRespondNow(this.#routedCall)))
        response = responseWithoutUpstream(this.#routedCall, now);
    } catch (error) {
      this.failed(error);
      return;
    }
    this.#endOrNext(response);
  }

  async #sendAfterBackOff(upstream: Upstream, remainingMs: number): Promise<void> {
    try {
      await backOff(this.#routedCall.failed.length, remainingMs);
      this.#send(upstream, remainingMs);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Third step: the attempt, and a second one if the call is hedged. */
  #send(upstream: Upstream, remainingMs: number): void {
    const { attempts, hedgeDelay, hedgeOptions } = this.#parts;
    const routedCall = this.#routedCall;
    this.#wasClosed = upstream.circuit.isClosed;
    const hedgeMs = hedgeDelay?.delayFor(routedCall, upstream, remainingMs);
    if (hedgeMs === undefined) attempts.start(upstream, routedCall, routedCall.cancellation, this);
    else HedgedCall.begin(upstream, hedgeMs, routedCall, hedgeOptions, this);
  }

  /** Last step: judges the outcome of the attempt. */
  succeeded(outcome: Outcome): void {
    const { confirmation, responseAfterFailure } = this.#parts;
    let response: UpstreamResponse | undefined;
    try {
      response = outcome.final
        ? confirmation.confirm(this.#routedCall, outcome.response)
        : responseAfterFailure(this.#routedCall, outcome, this.#wasClosed);
    } catch (error) {
      this.failed(error);
      return;
    }
    this.#endOrNext(response);
  }

  failed(error: unknown): void {
    this.#queue?.leave(this.#routedCall.cancellation?.owner ?? gatehouse);
    this.#receiver.failed(error);
  }

  #endOrNext(response: UpstreamResponse | undefined): void {
    if (response === undefined) this.next();
    else {
      this.#queue?.leave(this.#routedCall.cancellation?.owner ?? gatehouse);
      this.#receiver.succeeded(response);
    }
  }
}
