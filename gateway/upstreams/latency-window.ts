const SIZE = 64;
/** Samples after which a quantile is worked out anew: sorting costs 3 µs. */
const RECOMPUTE_AFTER = 16;

/** The last times that something took, in ms. Adding one costs a store. */
export class LatencyWindow {
  readonly #times = new Float64Array(SIZE);
  #added = 0;
  #quantile = 0;
  #quantileAt = 0;
  #lastAt = -Infinity;

  add(ms: number, now: number): void {
    this.#times[this.#added % SIZE] = ms;
    this.#added++;
    this.#lastAt = now;
  }

  /**
   * So much of the times are no longer than this. To be asked for the same share always.
   * @param minSamples samples, below which nothing is said
   * @param since on the clock of `add`: nothing is said either when the newest sample is older
   */
  quantile(quantile: number, minSamples: number, since = -Infinity): number | undefined {
    if (this.#added < minSamples || this.#lastAt < since) return undefined;
    if (this.#quantileAt === 0 || this.#added - this.#quantileAt >= RECOMPUTE_AFTER) {
      const sorted = this.#times.slice(0, Math.min(this.#added, SIZE)).sort();
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
