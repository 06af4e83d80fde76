const MAX_SAMPLES = 64;
/** Samples between two computations of the quantile: sorting costs 3 µs. */
const RECOMPUTE_AFTER_SAMPLES = 16;

/** Stores the last 64 latencies in ms, and computes one quantile of them. Adding a latency costs one store. */
export class LatencyWindow {
  readonly #times = new Float64Array(MAX_SAMPLES);
  #added = 0;
  #quantile = 0;
  #quantileAt = 0;
  #lastAt = -Infinity;

  add(ms: number, now: number): void {
    this.#times[this.#added % MAX_SAMPLES] = ms;
    this.#added++;
    this.#lastAt = now;
  }

  /**
   * The latency that the given share of the samples does not exceed. The result is cached, so that every call on one
   * window must pass the same `quantile`.
   * @param since on the clock of `add`
   * @returns undefined with fewer than `minSamples` samples, or if the newest sample is older than `since`
   */
  quantile(quantile: number, minSamples: number, since = -Infinity): number | undefined {
    if (this.#added < minSamples || this.#lastAt < since) return undefined;
    if (this.#quantileAt === 0 || this.#added - this.#quantileAt >= RECOMPUTE_AFTER_SAMPLES) {
      const sorted = this.#times.slice(0, Math.min(this.#added, MAX_SAMPLES)).sort();
      this.#quantile = sorted[Math.ceil(quantile * sorted.length) - 1] ?? 0;
      this.#quantileAt = this.#added;
    }
    return this.#quantile;
  }

  clear(): void {
    this.#added = 0;
    this.#quantileAt = 0;
  }
}
