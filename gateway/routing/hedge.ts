import type { Attempts } from './attempts.ts';
import type { RoutedCall } from './routed-call.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import type { Receiver } from '../upstreams/receiver.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';

export interface HedgeOptions {
  readonly attempts: Attempts;
  /** Selects the upstream of the hedged request, and counts the attempt. Undefined: no hedge. */
  readonly selectHedge: (routedCall: RoutedCall) => Upstream | undefined;
  /** Whether a response is used while the other attempt is in progress: it needs no confirmation. */
  readonly isConclusive: (
    routedCall: RoutedCall,
    response: UpstreamResponse,
    upstream: Upstream,
    askedAt: number,
  ) => boolean;
  /** Called at the end of a call for which a hedged request was sent. */
  readonly onHedged: (hasHedgeWon: boolean) => void;
  /** Called if the hedged request responded first. @param startedAt of the first attempt, by performance.now() */
  readonly onLost: (upstream: Upstream, routedCall: RoutedCall, startedAt: number) => void;
}

interface Attempt {
  readonly upstream: Upstream;
  readonly startedAt: number;
  readonly cancellation: Cancellation;
  readonly isHedge: boolean;
}

interface AttemptOutcome {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
}

/**
 * Sends one call to an upstream, and after a delay as a hedged request to a second one. The first conclusive response is
 * used, and the other attempt is cancelled.
 */
export class HedgedCall {
  readonly #options: HedgeOptions;
  readonly #routedCall: RoutedCall;
  readonly #attempts: Attempt[] = [];
  #fallback: AttemptOutcome | undefined;
  #isHedged = false;
  readonly #receiver: Receiver<Outcome>;
  #timer: NodeJS.Timeout | undefined;

  private constructor(routedCall: RoutedCall, options: HedgeOptions, receiver: Receiver<Outcome>) {
    this.#routedCall = routedCall;
    this.#options = options;
    this.#receiver = receiver;
  }

  /**
   * Sets `respondingUpstream` of the call.
   * @param delayMs from now; a multiple of 10, because Node keeps timers of equal length in one list
   * @param receiver gets the outcome, or Cancelled
   */
  static begin(
    first: Upstream,
    delayMs: number,
    routedCall: RoutedCall,
    options: HedgeOptions,
    receiver: Receiver<Outcome>,
  ): void {
    const hedgedCall = new HedgedCall(routedCall, options, receiver);
    hedgedCall.#timer = setTimeout(startHedge, delayMs, hedgedCall);
    hedgedCall.start(first, false);
  }

  start(upstream: Upstream, isHedge: boolean): void {
    const caller = this.#routedCall.cancellation;
    const cancellation = new Cancellation(caller?.owner, caller?.clientBatch);
    const attempt = { upstream, startedAt: performance.now(), cancellation, isHedge };
    this.#attempts.push(attempt);
    caller?.add(cancellation);
    if (caller?.isCancelled === true) cancellation.cancel();
    const receiver: Receiver<Outcome> = {
      succeeded: (outcome) => {
        this.#settle({ attempt, outcome });
      },
      failed: (error) => {
        this.#fail(attempt, error);
      },
    };
    this.#options.attempts.start(upstream, this.#routedCall, cancellation, receiver, isHedge);
  }

  startHedge(): void {
    const hedge = this.#options.selectHedge(this.#routedCall);
    if (hedge === undefined) return;
    this.#isHedged = true;
    this.start(hedge, true);
  }

  #settle(result: AttemptOutcome): void {
    const { attempt, outcome } = result;
    if (!this.#remove(attempt)) return;
    const [other] = this.#attempts;
    const { isConclusive } = this.#options;
    const { upstream, startedAt } = attempt;
    if (outcome.final && (other === undefined || isConclusive(this.#routedCall, outcome.response, upstream, startedAt)))
      this.#finish(result, attempt);
    else if (other === undefined) this.#finish(this.#fallback ?? result, attempt);
    else if (outcome.final) this.#fallback = result;
    else this.#routedCall.failed = [...this.#routedCall.failed, outcome];
  }

  #finish(result: AttemptOutcome, attempt: Attempt): void {
    const [loser] = this.#attempts;
    this.#attempts.length = 0;
    clearTimeout(this.#timer);
    if (loser !== undefined) {
      this.#routedCall.cancellation?.delete(loser.cancellation);
      // With a half-open circuit the attempt continues: its outcome closes or opens the circuit.
      if (loser.upstream.circuit.isClosed) {
        loser.cancellation.cancel();
        // A lost hedge is not recorded, because it started later.
        if (!loser.isHedge) this.#options.onLost(loser.upstream, this.#routedCall, loser.startedAt);
      }
    }
    if (this.#isHedged) this.#options.onHedged(attempt.isHedge && result.outcome.final);
    this.#routedCall.respondingUpstream = result.attempt.upstream;
    this.#routedCall.askedAt = result.attempt.startedAt;
    this.#receiver.succeeded(result.outcome);
  }

  /** The attempt threw: Cancelled, or an error of Gatehouse itself. */
  #fail(attempt: Attempt, error: unknown): void {
    if (!this.#remove(attempt)) return;
    clearTimeout(this.#timer);
    if (!(error instanceof Cancelled)) for (const { cancellation } of this.#attempts) cancellation.cancel();
    this.#attempts.length = 0;
    this.#receiver.failed(error);
  }

  /** @returns false if the call has already ended */
  #remove(attempt: Attempt): boolean {
    const at = this.#attempts.indexOf(attempt);
    if (at === -1) return false;
    this.#attempts.splice(at, 1);
    this.#routedCall.cancellation?.delete(attempt.cancellation);
    return true;
  }
}

function startHedge(hedgedCall: HedgedCall): void {
  hedgedCall.startHedge();
}
