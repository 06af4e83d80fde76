import type { MethodSpec } from '../spec/method-spec.ts';
import { LatencyWindow } from '../upstreams/latency-window.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Failsafe } from './failsafe-table.ts';

/** The parts of a call during routing that decide whether it may be sent twice. */
interface HedgeableCall {
  readonly method: MethodSpec;
  readonly preferred: Upstream | undefined;
  readonly candidates: readonly Upstream[] | undefined;
  readonly rules: { readonly failsafe: Failsafe<Upstream> | undefined };
}

const QUANTILE = 0.95;
const MIN_SAMPLES = 20;
/** Delay until a method has 20 samples. */
const DEFAULT_DELAY_MS = 1_000;
/** Delays are rounded up to this step, because Node keeps timers of equal length in one list. */
const DELAY_STEP_MS = 10;
const MAX_METHODS = 500;

/** Calculates after which delay a hedged request is sent, from the recent latencies of each method. */
export class HedgeDelay {
  readonly #latencies: Map<string, LatencyWindow>;

  /** @param previous of the same network before a reload; its latencies are continued */
  constructor(previous?: HedgeDelay) {
    this.#latencies = previous === undefined ? new Map<string, LatencyWindow>() : previous.#latencies;
  }

  /** Adds the latency of a successful call. */
  add(method: string, ms: number, now: number): void {
    let latencies = this.#latencies.get(method);
    if (latencies === undefined) {
      if (this.#latencies.size >= MAX_METHODS) return;
      this.#latencies.set(method, (latencies = new LatencyWindow()));
    }
    latencies.add(ms, now);
  }

  /**
   * The delay in ms from now. Undefined: no hedge, because the call must not be sent twice or times out before. If the
   * upstream's circuit is half-open, the delay is the minimum.
   */
  delayFor(call: HedgeableCall, upstream: Upstream, remainingMs: number): number | undefined {
    const { method, preferred, candidates, rules } = call;
    const { failsafe } = rules;
    // The effect and the cost of sending a pass-through method twice are unknown.
    if (method.sends === true || method.resultKinds === undefined) return undefined;
    // This upstream received the transaction. Another one may not have it yet, and would return null sooner.
    if (preferred === upstream || candidates?.length === 1) return undefined;
    if (failsafe === undefined) return undefined;
    const exactMs = failsafe.hedgeAfterMs.get(upstream) ?? this.#usualDelay(method.name, upstream, failsafe.hedgeMinMs);
    if (exactMs === 'off') return undefined;
    const delayMs = Math.ceil(exactMs / DELAY_STEP_MS) * DELAY_STEP_MS;
    return delayMs < Math.min(remainingMs, failsafe.timeoutMs.get(upstream) ?? upstream.timeoutMs)
      ? delayMs
      : undefined;
  }

  #usualDelay(method: string, upstream: Upstream, minMs: number): number {
    if (!upstream.circuit.isClosed) return minMs;
    const usualMs = this.#latencies.get(method)?.quantile(QUANTILE, MIN_SAMPLES) ?? DEFAULT_DELAY_MS;
    return Math.max(usualMs, minMs);
  }
}
