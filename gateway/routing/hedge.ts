import type { RoutedCall } from './routed-call.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** What came of an attempt, and whose words they are. */
export interface AttemptOutcome {
  readonly upstream: Upstream;
  readonly verdict: Outcome;
}

export interface HedgeOptions {
  readonly attempt: (
    upstream: Upstream,
    routedCall: RoutedCall,
    cancellation: Cancellation,
    isHedge: boolean,
  ) => Promise<Outcome>;
  /** Whom to ask as well, when the first takes long; it counts as asked then. Undefined: nobody. */
  readonly selectHedge: (routedCall: RoutedCall) => Upstream | undefined;
  /** Whether an outcome is to be believed before the other is heard. */
  readonly isConclusive: (outcome: AttemptOutcome, routedCall: RoutedCall) => boolean;
  /** The second was asked, and now it is decided. */
  readonly onHedged: (hasHedgeWon: boolean) => void;
  /** The first had no answer yet when the second had. @param startedAt on the clock of performance.now() */
  readonly onLost: (upstream: Upstream, routedCall: RoutedCall, startedAt: number) => void;
}

interface Attempt {
  readonly upstream: Upstream;
  readonly startedAt: number;
  readonly cancellation: Cancellation;
  readonly isHedge: boolean;
}

/** One call at an upstream, and where that takes long at a second one too. The first to say something of use wins. */
export class HedgedCall {
  readonly #options: HedgeOptions;
  readonly #routedCall: RoutedCall;
  readonly #attempts: Attempt[] = [];
  #fallback: AttemptOutcome | undefined;
  #isHedged = false;
  #timer: NodeJS.Timeout | undefined;
  #resolve: (outcome: AttemptOutcome) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  private constructor(routedCall: RoutedCall, options: HedgeOptions) {
    this.#routedCall = routedCall;
    this.#options = options;
  }

  /** @param delayMs from now on; a multiple of ten, since timers of equal length share a list. @throws Cancelled */
  static run(first: Upstream, delayMs: number, routedCall: RoutedCall, options: HedgeOptions): Promise<AttemptOutcome> {
    const hedgedCall = new HedgedCall(routedCall, options);
    return new Promise((resolve, reject) => {
      hedgedCall.#resolve = resolve;
      hedgedCall.#reject = reject;
      hedgedCall.#timer = setTimeout(startHedge, delayMs, hedgedCall);
      hedgedCall.start(first, false);
    });
  }

  start(upstream: Upstream, isHedge: boolean): void {
    const cancellation = new Cancellation();
    const attempt = { upstream, startedAt: performance.now(), cancellation, isHedge };
    this.#attempts.push(attempt);
    this.#routedCall.cancellation?.add(cancellation);
    if (this.#routedCall.cancellation?.isCancelled === true) cancellation.cancel();
    this.#options.attempt(upstream, this.#routedCall, cancellation, isHedge).then(
      (verdict) => {
        this.#settle(attempt, { upstream, verdict });
      },
      (error: unknown) => {
        this.#fail(attempt, error);
      },
    );
  }

  startHedge(): void {
    const hedge = this.#options.selectHedge(this.#routedCall);
    if (hedge === undefined) return;
    this.#isHedged = true;
    this.start(hedge, true);
  }

  #settle(attempt: Attempt, outcome: AttemptOutcome): void {
    if (!this.#remove(attempt)) return;
    const { verdict } = outcome;
    const [other] = this.#attempts;
    if (verdict.final && (other === undefined || this.#options.isConclusive(outcome, this.#routedCall)))
      this.#finish(outcome, attempt);
    else if (other === undefined) this.#finish(this.#fallback ?? outcome, attempt);
    else if (verdict.final) this.#fallback = outcome;
    else this.#routedCall.failed = [...this.#routedCall.failed, verdict];
  }

  #finish(outcome: AttemptOutcome, attempt: Attempt): void {
    const [loser] = this.#attempts;
    this.#attempts.length = 0;
    clearTimeout(this.#timer);
    if (loser !== undefined) {
      this.#routedCall.cancellation?.delete(loser.cancellation);
      // One that is on trial goes on: how it ends tells whether it is back, and nobody waits for it.
      if (loser.upstream.circuit.isClosed) {
        loser.cancellation.cancel();
        // A second one that was asked a moment before says nothing of itself by that.
        if (!loser.isHedge) this.#options.onLost(loser.upstream, this.#routedCall, loser.startedAt);
      }
    }
    if (this.#isHedged) this.#options.onHedged(attempt.isHedge && outcome.verdict.final);
    this.#resolve(outcome);
  }

  /** The caller has left, or we are wrong somewhere. */
  #fail(attempt: Attempt, error: unknown): void {
    if (!this.#remove(attempt)) return;
    clearTimeout(this.#timer);
    if (!(error instanceof Cancelled)) for (const { cancellation } of this.#attempts) cancellation.cancel();
    this.#attempts.length = 0;
    this.#reject(error);
  }

  /** @returns false where the race is over */
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
