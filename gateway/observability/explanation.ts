import type { CacheOutcome, CallObserver, CallObserverFactory, SkipReason } from './call-observer.ts';

/** Bytes of it as a header: balancers allow all headers of an answer 4 to 8 kB. */
const MAX_HEADER_BYTES = 3_000;

interface ExplainedAttempt {
  readonly upstream: string;
  /** Undefined while it is under way. */
  ms?: number;
  outcome?: string;
  readonly hedge?: true;
}

/** How one call came to its answer. */
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

  cached(verdict: CacheOutcome): void {
    this.cache = verdict;
  }

  ended(outcome: string): void {
    this.outcome = outcome;
  }

  toJSON(): object {
    const { method, outcome, cache, skipReasons: skipped, attempts, overBudget: rejections } = this;
    return {
      method,
      outcome,
      ...(cache !== undefined && { cache }),
      ...(Object.keys(skipped).length > 0 && { skipped }),
      attempts,
      ...(rejections.length > 0 && { overBudget: rejections }),
    };
  }
}

/** Which upstreams the calls of one request went to, which were passed over, and why; for who may ask for it. */
export class Explanation implements CallObserverFactory {
  readonly #network: string;
  readonly #upstreams: readonly string[];
  readonly #calls: ExplainedCall[] = [];

  /** @param upstreams names, as the network's file has them */
  constructor(network: string, upstreams: readonly string[]) {
    this.#network = network;
    this.#upstreams = upstreams;
  }

  begin(method: string): CallObserver {
    const call = new ExplainedCall(method);
    this.#calls.push(call);
    return call;
  }

  /** Of all calls. */
  toJSON(): object {
    return { network: this.#network, upstreams: this.#upstreams, calls: this.#calls };
  }

  /** In one line of JSON, of as many calls as there is room for. Names of networks, methods and upstreams are ASCII. */
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
