import { LatencyWindow } from './latency-window.ts';
import type { MethodGroup } from './method-group.ts';
import type { FailureClass } from './reply.ts';

/** What is older says nothing of today. */
const REMEMBERED_MS = 300_000;
const LEAST_SAMPLES = 10;
/** How far one attempt moves the share of failures: the last 50 or so count. */
const STEP = 0.02;
/** What a failure costs a caller: the time of an attempt elsewhere. */
const FAILURE_COST_MS = 200;

/** By whose fault another was asked. What is the call's affair does not count. */
const faults: ReadonlySet<FailureClass> = new Set(['transport', 'slow', 'malformed', 'rate', 'quota', 'auth']);

/** How good an upstream has been of late. */
export class Standing {
  readonly #times: Readonly<Record<MethodGroup, LatencyWindow>> = {
    lookup: new LatencyWindow(),
    execution: new LatencyWindow(),
    list: new LatencyWindow(),
    other: new LatencyWindow(),
  };
  #failures = 0;
  #at = -Infinity;

  replied(group: MethodGroup, ms: number, now: number): void {
    this.#times[group].add(ms, now);
    this.#failures -= this.#failures * STEP;
    this.#at = now;
  }

  failed(failure: FailureClass, now: number): void {
    if (!faults.has(failure)) return;
    this.#failures += (1 - this.#failures) * STEP;
    this.#at = now;
  }

  /** Share of attempts that failed by its own fault, 0 to 1. */
  failureRate(now: number): number {
    return now - this.#at > REMEMBERED_MS ? 0 : this.#failures;
  }

  /** The lower the better: ms that a call of the group takes, failures reckoned in. Undefined: too little is known. */
  score(group: MethodGroup, now: number): number | undefined {
    const typical = this.#times[group].quantile(0.5, LEAST_SAMPLES, now - REMEMBERED_MS);
    return typical === undefined ? undefined : typical + FAILURE_COST_MS * this.failureRate(now);
  }

  /** It gets another chance: how long it took for calls of the group is not held against it. */
  forget(group: MethodGroup): void {
    this.#times[group].forget();
  }
}
