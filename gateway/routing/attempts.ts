import type { Log } from '../config/log.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { RoutedCall } from './routed-call.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import { isRead } from '../spec/method-group.ts';
import {
  parseResponse,
  UpstreamFailure,
  type LargeResponse,
  type UpstreamResponse,
  type ResultResponse,
} from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome, FollowUp, Outcome } from '../upstreams/outcome.ts';
import type { SentTransactions } from '../upstreams/transactions/sent-transactions.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** The rules that a reply is held against: pure, and made elsewhere (`normalise/`). */
export type Normalise = (method: MethodSpec, params: readonly unknown[], response: UpstreamResponse) => Outcome;

/** Where a result is not as the spec says, if anywhere; made elsewhere too (`spec/`). */
export type ResultCheck = (method: string, result: unknown) => string | undefined;

/** A further attempt in less time would only make a good upstream look bad. */
export const MIN_ATTEMPT_MS = 10;

export interface AttemptsOptions {
  readonly normalise: Normalise;
  readonly checkResult: ResultCheck;
  readonly sent: SentTransactions;
  /** Whether a call may be sent again where the connection turns out to be closed, with nobody else to ask. */
  readonly canResend: (now: number) => boolean;
  /** It lacks what the call is about. */
  readonly onMissingData: (upstream: Upstream, routedCall: RoutedCall, now: number) => void;
  /** Hears of each reply that was of use, and how long it took. */
  readonly onResponse: (
    upstream: Upstream,
    routedCall: RoutedCall,
    response: UpstreamResponse,
    ms: number,
    now: number,
  ) => void;
  readonly log: Log;
}

/** A call at one upstream: what is made of what that says, and what is remembered of it. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** @throws Cancelled */
  attempt(
    upstream: Upstream,
    routedCall: RoutedCall,
    cancellation: Cancellation | undefined,
    isHedge = false,
  ): Promise<Outcome> {
    const attempt = this.#attempt(upstream, routedCall, cancellation);
    return routedCall.observer === undefined
      ? attempt
      : reportOutcome(attempt, routedCall.observer.attemptStarted(upstream.name, isHedge));
  }

  async #attempt(upstream: Upstream, routedCall: RoutedCall, cancellation: Cancellation | undefined): Promise<Outcome> {
    const { method, params, text, deadline } = routedCall;
    const { normalise, sent } = this.#options;
    const startedAt = performance.now();
    let verdict: Outcome;
    for (let isResend = false; ; isResend = true) {
      try {
        const remainingMs = isResend ? deadline - performance.now() : deadline - startedAt;
        const group = isRead(method) ? routedCall.group : undefined;
        verdict = normalise(
          method,
          params,
          await upstream.request(method.name, text, remainingMs, cancellation, group),
        );
        break;
      } catch (error) {
        const isStale = error instanceof UpstreamFailure && error.staleConnection;
        if (!isResend && isStale && this.#options.canResend(performance.now())) continue;
        return this.failed(upstream, method.name, error);
      }
    }
    verdict = upstream.withoutSecrets(verdict);
    if (!verdict.final && verdict.followUp !== undefined) {
      verdict = await this.#complete(upstream, verdict, verdict.followUp, deadline, cancellation);
    }
    if (method.sends === true) verdict = await sent.resolveOutcome(upstream, String(params[0]), verdict, deadline);
    if (!verdict.final) {
      this.#logEntry(upstream, method.name, verdict, describeError(verdict.response));
      if (verdict.failure === 'node-state') this.#options.onMissingData(upstream, routedCall, performance.now());
    } else this.#succeeded(upstream, routedCall, verdict.response, startedAt);
    return verdict.final && verdict.followUp !== undefined
      ? this.#complete(upstream, verdict, verdict.followUp, deadline, cancellation)
      : verdict;
  }

  /** What came in place of a reply. @throws what is no `UpstreamFailure` */
  failed(upstream: Upstream, method: string, error: unknown): Outcome {
    if (!(error instanceof UpstreamFailure)) throw error;
    const { failure, retryAfterMs, message } = error;
    const verdict: Outcome = { final: false, failure, response: undefined, retryAfterMs };
    if (!error.isCallerTimeout) this.#logEntry(upstream, method, verdict, message);
    return verdict;
  }

  /** Asks the same node for what it left out. Where that comes to nothing, the reply stays as it is. */
  async #complete(
    upstream: Upstream,
    verdict: Outcome,
    { method, params, complete }: FollowUp,
    deadline: number,
    cancellation: Cancellation | undefined,
  ): Promise<Outcome> {
    const remainingMs = deadline - performance.now();
    if (remainingMs < MIN_ATTEMPT_MS) return verdict;
    try {
      const completion = parseResponse(
        await upstream.request(method, JSON.stringify(params), remainingMs, cancellation),
      );
      const response = complete(completion);
      return response === undefined ? verdict : upstream.withoutSecrets({ final: true, response } as const);
    } catch (error) {
      if (error instanceof UpstreamFailure) return verdict;
      throw error;
    }
  }

  /** When the answer is on its way: a full block takes milliseconds. */
  #inspect(upstream: Upstream, method: string, response: ResultResponse | LargeResponse): void {
    const result = response.kind === 'large' ? (JSON.parse(response.parts.join('')) as unknown) : response.result;
    const detail = this.#options.checkResult(method, result);
    if (detail === undefined) return;
    upstream.metrics.deviated(method);
    this.#options.log.debug({ upstream: upstream.name, method, detail }, 'a result is not as the spec says');
  }

  #logEntry(upstream: Upstream, method: string, failed: FailedOutcome, detail: string): void {
    const { failure } = failed;
    const hasOpened = upstream.recordFailure(method, failed, performance.now());
    this.#options.log[hasOpened ? 'warn' : 'debug']({ upstream: upstream.name, failure, detail }, 'upstream failed');
  }

  #succeeded(upstream: Upstream, routedCall: RoutedCall, response: UpstreamResponse, startedAt: number): void {
    const { name } = routedCall.method;
    const now = performance.now();
    upstream.recordSuccess(name);
    if (isInspectable(response) && routedCall.method.isForeign !== true && upstream.sampler.isDue(name, now)) {
      setImmediate(() => {
        this.#inspect(upstream, name, response);
      });
    }
    this.#options.onResponse(upstream, routedCall, response, now - startedAt, now);
  }
}

/** More than that would hold up others for longer than it is worth. */
const MAX_INSPECTED_BYTES = 250_000;

function isInspectable(response: UpstreamResponse): response is ResultResponse | LargeResponse {
  return response.kind === 'large' ? response.parts[0].length <= MAX_INSPECTED_BYTES : response.kind === 'result';
}

async function reportOutcome(attempt: Promise<Outcome>, report: (outcome: string) => void): Promise<Outcome> {
  try {
    const verdict = await attempt;
    report(verdict.final ? 'response' : verdict.failure);
    return verdict;
  } catch (error) {
    report('cancelled');
    throw error;
  }
}

/** What a node said is text from outside: a line of it, and no addresses. */
function describeError(response: UpstreamResponse | undefined): string {
  if (response?.kind !== 'error') return 'an impossible result';
  return `${response.code} ${response.message.slice(0, 200).replace(/https?:\/\/\S+/g, '<url>')}`;
}
