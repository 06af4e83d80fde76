const EVERY_MS = 1_000;

/** Which results are looked at more closely: one a second of each method. */
export class Sampling {
  readonly #at = new Map<string, number>();

  /** @param now on the clock of performance.now() */
  isDue(method: string, now: number): boolean {
    if (now - (this.#at.get(method) ?? -Infinity) < EVERY_MS) return false;
    this.#at.set(method, now);
    return true;
  }
}
