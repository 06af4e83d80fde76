import type { RoutedCall } from './routed-call.ts';
import { LatencyWindow } from '../upstreams/latency-window.ts';
import type { Upstream } from '../upstreams/upstream.ts';

const QUANTILE = 0.95;
const MIN_SAMPLES = 20;
/** As long as nobody knows how long the method takes. */
const DEFAULT_DELAY_MS = 1_000;
/** Timers of equal length share a list. */
const STEP_MS = 10;
const METHODS_MAX = 500;

/** After how long a call is asked of a second upstream. */
export class HedgeDelay {
  readonly #minMs: number;
  readonly #latencies: Map<string, LatencyWindow>;

  /** @param previous of the same network before its file was changed: its methods take as long as they did */
  constructor(minMs: number, previous?: HedgeDelay) {
    this.#minMs = minMs;
    this.#latencies = previous === undefined ? new Map<string, LatencyWindow>() : previous.#latencies;
  }

  /** A call of the method was answered. */
  add(method: string, ms: number, now: number): void {
    let latencies = this.#latencies.get(method);
    if (latencies === undefined) {
      if (this.#latencies.size >= METHODS_MAX) return;
      this.#latencies.set(method, (latencies = new LatencyWindow()));
    }
    latencies.add(ms, now);
  }

  /**
   * In ms, from now on. Undefined: never, since the call may not be made twice or ends before. One that is on trial
   * after a failure is not waited for.
   */
  delayFor({ method, preferred }: RoutedCall, upstream: Upstream, remainingMs: number): number | undefined {
    // Of what the spec does not know nobody can tell what a second time would do, or cost.
    if (method.sends === true || method.resultKinds === undefined) return undefined;
    // It took the transaction that is asked about; another one may not know it yet, and would be the quicker to say so.
    if (preferred === upstream) return undefined;
    const expectedMs = upstream.circuit.isClosed
      ? (this.#latencies.get(method.name)?.quantile(QUANTILE, MIN_SAMPLES) ?? DEFAULT_DELAY_MS)
      : this.#minMs;
    const delayMs = Math.ceil(Math.max(expectedMs, this.#minMs) / STEP_MS) * STEP_MS;
    return delayMs < Math.min(remainingMs, upstream.timeoutMs) ? delayMs : undefined;
  }
}
