import type { SkipReason } from '../routing/policy/skip-reasons.ts';
import type { CacheOutcome, CallObserver, CallObserverFactory } from './call-observer.ts';

/** Limit of the header value: load balancers allow 4 to 8 kB for all headers of a response. */
const MAX_HEADER_BYTES = 3_000;

interface ExplainedAttempt {
  readonly upstream: string;
  /** Undefined while the attempt is in progress. */
  ms?: number;
  outcome?: string;
  readonly hedge?: true;
}

/** Records the skipped upstreams, the attempts and the outcome of one call. */
class ExplainedCall implements CallObserver {
  readonly method: string;
  outcome: string | undefined;
  cache: CacheOutcome | undefined;
  readonly skipReasons: Record<string, SkipReason> = {};
  readonly attempts: ExplainedAttempt[] = [];
  readonly overBudget: string[] = [];

  constructor(method: string) {
    this.method = method;
  }

  skipped(upstream: string, reason: SkipReason): void {
    this.skipReasons[upstream] = reason;
  }

  attemptStarted(upstream: string, isHedge: boolean): (outcome: string) => void {
    const startedAt = performance.now();
    const attempt: ExplainedAttempt = { upstream, ...(isHedge && { hedge: true }) };
    this.attempts.push(attempt);
    return (outcome) => {
      attempt.ms = Math.round(performance.now() - startedAt);
      attempt.outcome = outcome;
    };
  }

  budgetExceeded(what: 'retry' | 'hedge'): void {
    this.overBudget.push(what);
  }

  cached(outcome: CacheOutcome): void {
    this.cache = outcome;
  }

  ended(outcome: string): void {
    this.outcome = outcome;
  }

  toJSON(): object {
    const { method, outcome, cache, skipReasons: skipped, attempts, overBudget } = this;
    return {
      method,
      outcome,
      ...(cache !== undefined && { cache }),
      ...(Object.keys(skipped).length > 0 && { skipped }),
      attempts,
      ...(overBudget.length > 0 && { overBudget }),
    };
  }
}

/** Records, for keys with the `explain` capability, how the calls of one request were routed. */
export class Explanation implements CallObserverFactory {
  readonly #network: string;
  readonly #upstreams: readonly string[];
  readonly #calls: ExplainedCall[] = [];

  /** @param upstreams names in the order of the network file */
  constructor(network: string, upstreams: readonly string[]) {
    this.#network = network;
    this.#upstreams = upstreams;
  }

  begin(method: string): CallObserver {
    const call = new ExplainedCall(method);
    this.#calls.push(call);
    return call;
  }

  /** Contains all calls. */
  toJSON(): object {
    return { network: this.#network, upstreams: this.#upstreams, calls: this.#calls };
  }

  /**
   * One line of JSON with as many calls as fit into a header; `more` counts the others. Names of networks, methods and
   * upstreams are ASCII.
   */
  toString(): string {
    const calls = [...this.#calls];
    for (;;) {
      const more = this.#calls.length - calls.length;
      const text = JSON.stringify({
        network: this.#network,
        upstreams: this.#upstreams.slice(0, 20),
        calls,
        ...(more > 0 && { more }),
      });
      if (text.length <= MAX_HEADER_BYTES || calls.length === 0) return text;
      calls.length = Math.min(calls.length - 1, Math.ceil((calls.length * MAX_HEADER_BYTES) / text.length));
    }
  }
}
