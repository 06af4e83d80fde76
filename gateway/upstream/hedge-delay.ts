import type { Asking } from './asking.ts';
import { LatencyWindow } from './latency-window.ts';
import type { Upstream } from './upstream.ts';

const SHARE = 0.95;
const LEAST_SAMPLES = 20;
/** As long as nobody knows how long the method takes. */
const UNKNOWN_MS = 1_000;
/** Timers of equal length share a list. */
const STEP_MS = 10;
const METHODS_MAX = 500;

/** After how long a call is asked of a second upstream. */
export class HedgeDelay {
  readonly #leastMs: number;
  readonly #times: Map<string, LatencyWindow>;

  /** @param before of the same network before its file was changed: its methods take as long as they did */
  constructor(leastMs: number, before?: HedgeDelay) {
    this.#leastMs = leastMs;
    this.#times = before === undefined ? new Map<string, LatencyWindow>() : before.#times;
  }

  /** A call of the method was answered. */
  add(method: string, ms: number, now: number): void {
    let times = this.#times.get(method);
    if (times === undefined) {
      if (this.#times.size >= METHODS_MAX) return;
      this.#times.set(method, (times = new LatencyWindow()));
    }
    times.add(ms, now);
  }

  /**
   * In ms, from now on. Undefined: never, since the call may not be made twice or ends before. One that is on trial
   * after a failure is not waited for.
   */
  of({ method, preferred }: Asking, upstream: Upstream, leftMs: number): number | undefined {
    // Of what the spec does not know nobody can tell what a second time would do, or cost.
    if (method.sends === true || method.resultKinds === undefined) return undefined;
    // It took the transaction that is asked about; another one may not know it yet, and would be the quicker to say so.
    if (preferred === upstream) return undefined;
    const usual = upstream.health.isUp
      ? (this.#times.get(method.name)?.quantile(SHARE, LEAST_SAMPLES) ?? UNKNOWN_MS)
      : this.#leastMs;
    const afterMs = Math.ceil(Math.max(usual, this.#leastMs) / STEP_MS) * STEP_MS;
    return afterMs < Math.min(leftMs, upstream.timeoutMs) ? afterMs : undefined;
  }
}
