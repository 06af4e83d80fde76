/** Takes one of a kind in so much time. */
export class Sampling {
  readonly #everyMs: number;
  readonly #at = new Map<string, number>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** @param now on the clock of performance.now() */
  isDue(kind: string, now: number): boolean {
    if (now - (this.#at.get(kind) ?? -Infinity) < this.#everyMs) return false;
    this.#at.set(kind, now);
    return true;
  }
}
