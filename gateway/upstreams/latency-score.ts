import { LatencyWindow } from './latency-window.ts';
import type { MethodGroup } from '../spec/method-spec.ts';
import type { FailureClass } from './transport/upstream-response.ts';

/** Older samples do not count. */
const MAX_AGE_MS = 300_000;
const MIN_SAMPLES = 10;
/** Weight of one attempt in the moving average of failures: about the last 50 attempts count. */
const FAILURE_WEIGHT = 0.02;
/** Cost of a failure for the caller: the time of an attempt at another upstream. */
const FAILURE_COST_MS = 200;

/** Failures that the upstream causes. Those that the call itself causes do not count. */
const countedFailures: ReadonlySet<FailureClass> = new Set(['transport', 'slow', 'malformed', 'rate', 'quota', 'auth']);

/** Computes the latency score of one upstream for the ranking, per group of methods. It does not select upstreams. */
export class LatencyScore {
  readonly #times: Readonly<Record<MethodGroup, LatencyWindow>> = {
    lookup: new LatencyWindow(),
    execution: new LatencyWindow(),
    list: new LatencyWindow(),
    long: new LatencyWindow(),
    other: new LatencyWindow(),
  };
  #failures = 0;
  #updatedAt = -Infinity;

  /** Records a latency, also of a cancelled attempt, and lowers the share of failures. */
  recordLatency(group: MethodGroup, ms: number, now: number): void {
    this.#times[group].add(ms, now);
    this.#failures -= this.#failures * FAILURE_WEIGHT;
    this.#updatedAt = now;
  }

  recordFailure(failure: FailureClass, now: number): void {
    if (!countedFailures.has(failure)) return;
    this.#failures += (1 - this.#failures) * FAILURE_WEIGHT;
    this.#updatedAt = now;
  }

  /** Share of attempts with a counted failure, 0 to 1. */
  failureRate(now: number): number {
    return now - this.#updatedAt > MAX_AGE_MS ? 0 : this.#failures;
  }

  /** Expected ms of a call of the group, with the cost of failures: lower is better. Undefined: too few samples. */
  score(group: MethodGroup, now: number): number | undefined {
    const medianMs = this.#times[group].quantile(0.5, MIN_SAMPLES, now - MAX_AGE_MS);
    return medianMs === undefined ? undefined : medianMs + FAILURE_COST_MS * this.failureRate(now);
  }

  /** Removes the samples of the group, so that the upstream is tried again. */
  clear(group: MethodGroup): void {
    this.#times[group].clear();
  }
}
