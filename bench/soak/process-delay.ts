const INTERVAL_MS = 20;

/**
 * Measures delays of this process's own event loop. Fake nodes run in this process, so they are slow during a delay
 * although no fault is set.
 */
export class ProcessDelay {
  readonly #limitMs: number;
  readonly #timer: NodeJS.Timeout;
  #checkedAt = performance.now();
  #delayedAt = -Infinity;
  #maxMs = 0;

  /** @param limitMs longer delays count for `wasDelayed` */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.#timer = setInterval(() => {
      this.#check();
    }, INTERVAL_MS);
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  wasDelayed(since: number): boolean {
    this.#check();
    return this.#delayedAt >= since;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    const delayMs = now - this.#checkedAt - INTERVAL_MS;
    this.#checkedAt = now;
    this.#maxMs = Math.max(this.#maxMs, delayMs);
    if (delayMs > this.#limitMs) this.#delayedAt = now;
  }
}
