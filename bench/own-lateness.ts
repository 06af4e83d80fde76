const EVERY_MS = 20;

/** Looks whether this process itself is late: nodes that live in it are then slow without having been told to. */
export class OwnLateness {
  readonly #timeoutMs: number;
  readonly #timer: NodeJS.Timeout;
  #lookedAt = performance.now();
  #lateAt = -Infinity;
  #worstMs = 0;

  /** @param timeoutMs from here on it counts as late */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#timer = setInterval(() => {
      this.#look();
    }, EVERY_MS);
  }

  get worstMs(): number {
    return this.#worstMs;
  }

  wasLate(since: number): boolean {
    this.#look();
    return this.#lateAt >= since;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const late = now - this.#lookedAt - EVERY_MS;
    this.#lookedAt = now;
    this.#worstMs = Math.max(this.#worstMs, late);
    if (late > this.#timeoutMs) this.#lateAt = now;
  }
}
