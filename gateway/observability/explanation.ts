import type { SkipReason } from '../routing-policy/skip-reasons.ts';
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
  readonly needsAllSkipReasons = true;
  readonly method: string;
  outcome: string | undefined;
  requestUnits: number | undefined;
  /** The limit of the key that rejected the call. */
  rejectedBy: string | undefined;
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

  ended(outcome: string, _code: number | undefined, requestUnits: number): void {
    this.outcome = outcome;
    this.requestUnits = requestUnits;
  }

  toJSON(): object {
    const { method, outcome, requestUnits, rejectedBy, cache, skipReasons: skipped, attempts, overBudget } = this;
    return {
      method,
      outcome,
      requestUnits,
      ...(rejectedBy !== undefined && { rejectedBy }),
      ...(cache !== undefined && { cache }),
      ...(Object.keys(skipped).length > 0 && { skipped }),
      attempts,
      ...(overBudget.length > 0 && { overBudget }),
    };
  }
}

/** The network whose calls are explained. */
interface ExplainedNetwork {
  readonly config: { readonly slug: string };
  /** In the order of the network file. */
  readonly upstreams: { readonly all: readonly { readonly name: string }[] };
}

/** Records how the calls of one request were routed: for keys with the `explain` capability, and for operators. */
export class Explanation implements CallObserverFactory {
  readonly #network: string;
  readonly #upstreams: readonly string[];
  readonly #calls: ExplainedCall[] = [];

  constructor({ config, upstreams }: ExplainedNetwork) {
    this.#network = config.slug;
    this.#upstreams = upstreams.all.map(({ name }) => name);
  }

  begin(method: string): CallObserver {
    const call = new ExplainedCall(method);
    this.#calls.push(call);
    return call;
  }

  limited(method: string, outcome: string, requestUnits: number, limit: string): void {
    const call = new ExplainedCall(method);
    this.#calls.push(Object.assign(call, { outcome, requestUnits, rejectedBy: limit }));
  }

  /** Contains all calls. */
  toJSON(): object {
    return this.#withCalls(this.#calls.length);
  }

  /** One line of JSON with as many calls as fit into a header. Names of networks, methods and upstreams are ASCII. */
  toString(): string {
    let count = this.#calls.length;
    for (;;) {
      const text = JSON.stringify({ ...this.#withCalls(count), upstreams: this.#upstreams.slice(0, 20) });
      if (text.length <= MAX_HEADER_BYTES || count === 0) return text;
      count = Math.min(count - 1, Math.ceil((count * MAX_HEADER_BYTES) / text.length));
    }
  }

  /** @param count the first calls to include; `more` counts the others */
  #withCalls(count: number): object {
    const more = this.#calls.length - count;
    const calls = this.#calls.slice(0, count);
    return { network: this.#network, upstreams: this.#upstreams, calls, ...(more > 0 && { more }) };
  }
}
