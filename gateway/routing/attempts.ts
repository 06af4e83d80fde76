import type { NetworkHeads } from '../heads/network-heads.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { RoutedCall } from './routed-call.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import { inspectIfDue, type InspectOptions } from '../upstreams/inspect-result.ts';
import type { Receiver } from '../upstreams/receiver.ts';
import { Attempt } from './attempt.ts';
import {
  parseResponse,
  ResponseTooLarge,
  UpstreamFailure,
  type UpstreamResponse,
} from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome, FollowUp, Outcome } from '../upstreams/outcome.ts';
import type { FailedCall } from '../upstreams/health/circuit-breaker.ts';
import type { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** Turns an upstream response into an outcome. A pure function of `normalise/`. */
export type Normalise = (method: MethodSpec, params: readonly unknown[], response: UpstreamResponse) => Outcome;

/** With less time left, no further attempt is made: it would time out and count against a healthy upstream. */
export const MIN_ATTEMPT_MS = 10;

export interface AttemptsOptions extends InspectOptions {
  readonly normalise: Normalise;
  readonly sent: SentTransactions;
  readonly heads: Pick<NetworkHeads, 'head' | 'headOf' | 'isAlternating' | 'poll'>;
  /** Whether a call may be sent again to the same upstream after it had closed the connection: the only upstream. */
  readonly canResend: (routedCall: RoutedCall, now: number) => boolean;
  /** Whether the network file permits the method at the upstream. */
  readonly isCandidate: (upstream: Upstream, method: string) => boolean;
  /** The upstream does not have the block or state that the call needs. */
  readonly onMissingData: (upstream: Upstream, routedCall: RoutedCall, now: number) => void;
  /** Called for each final response. @param ms from the start of the attempt */
  readonly onResponse: (
    upstream: Upstream,
    routedCall: RoutedCall,
    response: UpstreamResponse,
    ms: number,
    now: number,
  ) => void;
  /** Whether an upstream of the network was successful with the method. */
  readonly isSupported: (method: string) => boolean;
}

/**
 * Makes one attempt of a call at one upstream, classifies the response and records it at the upstream. It does not select
 * upstreams.
 */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** @param receiver gets the outcome, or Cancelled */
  start(
    upstream: Upstream,
    routedCall: RoutedCall,
    cancellation: Cancellation | undefined,
    receiver: Receiver<Outcome>,
    isHedge = false,
  ): void {
    const { sentTo, observer } = routedCall;
    if (sentTo !== undefined) {
      const headHash = headHashAt(upstream, this.#options.heads);
      sentTo.headHash = isHedge && sentTo.headHash !== headHash ? undefined : headHash;
    }
    const onEnd = observer?.attemptStarted(upstream.name, isHedge);
    upstream.calls.send(new Attempt(this, upstream, routedCall, cancellation, receiver, onEnd));
  }

  /** The outcome of a response. Undefined: the attempt gets it later, because it needs another request. */
  outcomeOf(attempt: Attempt, received: UpstreamResponse): Outcome | undefined {
    const { upstream, routedCall } = attempt;
    const { method, pinned } = routedCall;
    const outcome = upstream.withoutSecrets(this.#options.normalise(method, (pinned ?? routedCall).params, received));
    if (outcome.followUp !== undefined || method.sends === true) {
      void this.#finish(attempt, outcome);
      return undefined;
    }
    if (outcome.final) this.#recordSuccess(upstream, routedCall, outcome.response, attempt.startedAt);
    else this.#recordFailure(routedCall, upstream, outcome);
    return outcome;
  }

  /** Undefined: the attempt is sent again. @throws the error if it is not an `UpstreamFailure` */
  outcomeWithoutResponse(attempt: Attempt, error: unknown): Outcome | undefined {
    const { upstream, routedCall } = attempt;
    const isStale = error instanceof UpstreamFailure && error.staleConnection;
    if (isStale && !attempt.isResend && this.#options.canResend(routedCall, performance.now())) {
      routedCall.attempts++;
      attempt.isResend = true;
      attempt.timeLimitMs = routedCall.deadline - performance.now();
      upstream.calls.send(attempt);
      return undefined;
    }
    return this.#recordNoResponse(upstream, routedCall, error);
  }

  async #finish(attempt: Attempt, first: Outcome): Promise<void> {
    const { upstream, cancellation, routedCall } = attempt;
    const { method, deadline } = routedCall;
    const { params } = routedCall.pinned ?? routedCall;
    let outcome = first;
    try {
      if (!outcome.final && outcome.followUp !== undefined)
        outcome = await this.#complete(upstream, outcome, outcome.followUp, deadline, cancellation);
      if (method.sends === true)
        outcome = await this.#options.sent.resolveOutcome(upstream, method, String(params[0]), outcome, deadline);
      if (outcome.final) this.#recordSuccess(upstream, routedCall, outcome.response, attempt.startedAt);
      else this.#recordFailure(routedCall, upstream, outcome);
      if (outcome.final && outcome.followUp !== undefined)
        outcome = await this.#complete(upstream, outcome, outcome.followUp, deadline, cancellation);
    } catch (error) {
      attempt.failWith(error);
      return;
    }
    attempt.endWith(outcome);
  }

  #recordFailure(routedCall: RoutedCall, upstream: Upstream, outcome: FailedOutcome): void {
    const { method, range } = routedCall;
    // Callers can name any method of a wildcard: only those that exist are marked.
    const canMark = method.openedBy === undefined || this.#options.isSupported(method.name);
    const detail = describeError(outcome.response);
    this.#recordFailedOutcome(upstream, method.name, outcome, detail, canMark, failedCall(routedCall));
    if (outcome.failure === 'too-large') range?.refused(upstream, outcome.response);
    else range?.failed(upstream);
    if (isMissingData(routedCall, outcome)) this.#options.onMissingData(upstream, routedCall, performance.now());
  }

  /** A range with too large a result is no failure of the upstream. @throws the error if it is not an `UpstreamFailure` */
  #recordNoResponse(upstream: Upstream, routedCall: RoutedCall, error: unknown): Outcome {
    const { method, range } = routedCall;
    const isUnsent = error instanceof UpstreamFailure && error.isUnsent;
    const call = isUnsent ? undefined : failedCall(routedCall, error);
    if (range === undefined) return this.recordFailure(upstream, method.name, error, call);
    const isTooLarge = error instanceof ResponseTooLarge;
    const failure = isTooLarge ? new UpstreamFailure('too-large', error.message) : error;
    const outcome = this.recordFailure(upstream, method.name, failure, call);
    if (isTooLarge) range.refused(upstream, undefined);
    else range.failed(upstream);
    return outcome;
  }

  /**
   * Records an upstream failure without a response.
   * @param call undefined: no call is the cause
   * @throws the error if it is not an `UpstreamFailure`
   */
  recordFailure(upstream: Upstream, method: string, error: unknown, call?: FailedCall): Outcome {
    if (!(error instanceof UpstreamFailure)) throw error;
    const { failure, retryAfterMs, message } = error;
    const outcome: Outcome = { final: false, failure, response: undefined, detail: message, retryAfterMs };
    if (!error.isCallerTimeout) this.#recordFailedOutcome(upstream, method, outcome, message, true, call);
    return outcome;
  }

  /** Records that a hedged request responded before the upstream. @param startedAt of its attempt, by performance.now() */
  recordOvertaken(upstream: Upstream, routedCall: RoutedCall, startedAt: number): void {
    const { method, group } = routedCall;
    const now = performance.now();
    upstream.latencyScore.recordLatency(group, now - startedAt, now);
    // A cancelled attempt never times out. Without this failure, an upstream that does not respond would stay first.
    if (upstream.hasResponded(startedAt)) return;
    const failure = new UpstreamFailure('slow', 'the hedged request responded first');
    this.recordFailure(upstream, method.name, failure, failedCall(routedCall, failure));
  }

  /** Sends the follow-up call to the same upstream. If it adds nothing, the outcome stays as it is. */
  async #complete(
    upstream: Upstream,
    outcome: Outcome,
    { method, params, complete }: FollowUp,
    deadline: number,
    cancellation: Cancellation | undefined,
  ): Promise<Outcome> {
    const remainingMs = deadline - performance.now();
    if (remainingMs < MIN_ATTEMPT_MS || !this.#options.isCandidate(upstream, method)) return outcome;
    try {
      const completion = parseResponse(
        await upstream.request(method, JSON.stringify(params), remainingMs, cancellation),
      );
      const response = complete(completion);
      return response === undefined ? outcome : upstream.withoutSecrets({ final: true, response } as const);
    } catch (error) {
      if (error instanceof UpstreamFailure) return outcome;
      throw error;
    }
  }

  #recordFailedOutcome(
    upstream: Upstream,
    method: string,
    failed: FailedOutcome,
    detail: string,
    canMark: boolean,
    call: FailedCall | undefined,
  ): void {
    upstream.health.logFailure(
      failed.failure,
      detail,
      upstream.recordFailure(method, failed, performance.now(), canMark, call),
    );
  }

  #recordSuccess(upstream: Upstream, routedCall: RoutedCall, response: UpstreamResponse, startedAt: number): void {
    const { name } = routedCall.method;
    const now = performance.now();
    upstream.recordSuccess(name);
    routedCall.range?.returned(upstream);
    if (upstream.isHeadUncertain) this.#options.heads.poll(upstream).catch(() => undefined); // the next success polls again
    if (routedCall.method.isPassThrough !== true) inspectIfDue(upstream, name, response, now, this.#options);
    this.#options.onResponse(upstream, routedCall, response, now - startedAt, now);
  }
}

/** The hash of the network's head, if the upstream is known to have it. One of several nodes at its URL may not. */
function headHashAt(upstream: Upstream, heads: AttemptsOptions['heads']): string | undefined {
  const { head } = heads;
  if (head === undefined || heads.headOf(upstream)?.header?.hash !== head.hash) return undefined;
  return upstream.isHeadUncertain || heads.isAlternating(upstream) ? undefined : head.hash;
}

/** Lookups execute nothing. Other calls, and those with a result that is too large, may be the cause of a failure themselves. */
function failedCall({ cancellation, group, method }: RoutedCall, error?: unknown): FailedCall {
  const mayBeCause = group !== 'lookup' || method.isPassThrough === true || error instanceof ResponseTooLarge;
  return { owner: cancellation?.owner, mayBeCause, error: error instanceof Error ? error : undefined };
}

/** At most 200 characters and no URLs: the text is from outside. */
function describeError(response: UpstreamResponse | undefined): string {
  if (response?.kind !== 'error') return 'invalid result';
  return `${response.code} ${response.message.slice(0, 200).replace(/https?:\/\/\S+/g, '<url>')}`;
}

/** For a lookup by hash, `no-block` means that the object does not exist, not that history is missing. */
function isMissingData({ method, blocks }: RoutedCall, { failure }: FailedOutcome): boolean {
  return failure === 'node-state' || (failure === 'no-block' && blocks !== undefined && method.looksUpHash !== true);
}
