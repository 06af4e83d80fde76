import { LatencyWindow } from './latency-window.ts';
import type { MethodGroup } from '../spec/method-group.ts';
import type { FailureClass } from './transport/upstream-response.ts';

/** What is older says nothing of today. */
const MAX_AGE_MS = 300_000;
const MIN_SAMPLES = 10;
/** How far one attempt moves the share of failures: the last 50 or so count. */
const FAILURE_WEIGHT = 0.02;
/** What a failure costs a caller: the time of an attempt elsewhere. */
const FAILURE_COST_MS = 200;

/** By whose fault another was asked. What is the call's affair does not count. */
const countedFailures: ReadonlySet<FailureClass> = new Set(['transport', 'slow', 'malformed', 'rate', 'quota', 'auth']);

/** How good an upstream has been of late. */
export class LatencyScore {
  readonly #times: Readonly<Record<MethodGroup, LatencyWindow>> = {
    lookup: new LatencyWindow(),
    execution: new LatencyWindow(),
    list: new LatencyWindow(),
    other: new LatencyWindow(),
  };
  #failures = 0;
  #updatedAt = -Infinity;

  recordSuccess(group: MethodGroup, ms: number, now: number): void {
    this.#times[group].add(ms, now);
    this.#failures -= this.#failures * FAILURE_WEIGHT;
    this.#updatedAt = now;
  }

  recordFailure(failure: FailureClass, now: number): void {
    if (!countedFailures.has(failure)) return;
    this.#failures += (1 - this.#failures) * FAILURE_WEIGHT;
    this.#updatedAt = now;
  }

  /** Share of attempts that failed by its own fault, 0 to 1. */
  failureRate(now: number): number {
    return now - this.#updatedAt > MAX_AGE_MS ? 0 : this.#failures;
  }

  /** The lower the better: ms that a call of the group takes, failures reckoned in. Undefined: too little is known. */
  score(group: MethodGroup, now: number): number | undefined {
    const medianMs = this.#times[group].quantile(0.5, MIN_SAMPLES, now - MAX_AGE_MS);
    return medianMs === undefined ? undefined : medianMs + FAILURE_COST_MS * this.failureRate(now);
  }

  /** It gets another chance: how long it took for calls of the group is not held against it. */
  clear(group: MethodGroup): void {
    this.#times[group].clear();
  }
}
