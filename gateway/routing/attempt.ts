import { isRead } from '../spec/method-group.ts';
import type { MethodGroup } from '../spec/method-spec.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import type { Receiver } from '../upstreams/receiver.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { SentCall } from '../upstreams/upstream-calls.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Failsafe } from './retry/failsafe-table.ts';
import { hasAttempt, type RoutedCall } from './routed-call.ts';

/** Classifies and records what an attempt gets. `Attempts` implements it. */
export interface AttemptOwner {
  /** Undefined: the attempt gets its outcome later. */
  outcomeOf(attempt: Attempt, response: UpstreamResponse): Outcome | undefined;
  /** Undefined: the attempt is sent again. @throws the error if it is not an `UpstreamFailure` */
  outcomeWithoutResponse(attempt: Attempt, error: unknown): Outcome | undefined;
}

/** One attempt of a call at one upstream, in flight. Its receiver gets the outcome, or Cancelled. */
export class Attempt implements SentCall {
  readonly upstream: Upstream;
  readonly routedCall: RoutedCall;
  readonly cancellation: Cancellation | undefined;
  readonly method: string;
  readonly params: string;
  readonly group: MethodGroup | undefined;
  readonly startedAt = performance.now();
  timeLimitMs: number;
  readonly timeoutMs: number | undefined;
  sentAt = 0;
  id = 0;
  isResend = false;
  readonly #attempts: AttemptOwner;
  readonly #receiver: Receiver<Outcome>;
  readonly #onEnd: ((outcome: string) => void) | undefined;

  constructor(
    attempts: AttemptOwner,
    upstream: Upstream,
    routedCall: RoutedCall,
    cancellation: Cancellation | undefined,
    receiver: Receiver<Outcome>,
    onEnd: ((outcome: string) => void) | undefined,
  ) {
    const { method, group, params, deadline, failsafe } = routedCall;
    this.#attempts = attempts;
    this.upstream = upstream;
    this.routedCall = routedCall;
    this.cancellation = cancellation;
    this.method = method.name;
    this.params = (routedCall.pinned ?? routedCall).text;
    // A block with its transactions has up to megabytes, for which other calls of a batch would wait.
    const isLarge = method.shape?.type === 'Block' && params[1] === true;
    this.group = isRead(method) && !isLarge ? group : undefined;
    this.timeLimitMs = deadline - this.startedAt;
    this.timeoutMs = failsafe?.timeoutMs.get(upstream);
    // Otherwise an upstream that hangs would use the time of the whole call.
    if (failsafe?.sharesTime?.has(upstream) === true && hasOtherUpstream(routedCall, failsafe))
      this.timeoutMs = Math.min(this.timeoutMs ?? Infinity, this.timeLimitMs / 2);
    this.#receiver = receiver;
    this.#onEnd = onEnd;
  }

  succeeded(response: UpstreamResponse): void {
    let outcome: Outcome | undefined;
    try {
      outcome = this.#attempts.outcomeOf(this, response);
    } catch (error) {
      this.failed(error);
      return;
    }
    if (outcome !== undefined) this.endWith(outcome);
  }

  failed(error: unknown): void {
    let outcome: Outcome | undefined;
    try {
      outcome = this.#attempts.outcomeWithoutResponse(this, error);
    } catch (thrown) {
      this.failWith(thrown);
      return;
    }
    if (outcome !== undefined) this.endWith(outcome);
  }

  endWith(outcome: Outcome): void {
    this.#onEnd?.(outcome.final ? 'response' : outcome.failure);
    this.#receiver.succeeded(outcome);
  }

  failWith(error: unknown): void {
    this.#onEnd?.('cancelled');
    this.#receiver.failed(error);
  }
}

/** Whether another upstream may get the call after a failure. */
function hasOtherUpstream(routedCall: RoutedCall, { timeoutMs }: Failsafe<Upstream>): boolean {
  const { method, tried, candidates } = routedCall;
  if (!hasAttempt(routedCall)) return false;
  const others = (candidates ?? [...timeoutMs.keys()]).filter((upstream) => !tried.includes(upstream));
  return others.some(
    ({ circuit, isOnOtherChain, methods }) =>
      circuit.isClosed && !isOnOtherChain && !methods.isUnsupported(method.name),
  );
}
