/** Selects at most one event of each kind per interval. */
export class Sampler {
  readonly #intervalMs: number;
  readonly #sampledAt = new Map<string, number>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Whether an event of this kind is due; if so, it is recorded. @param now by clock.now() */
  takeIfDue(kind: string, now: number): boolean {
    if (now - (this.#sampledAt.get(kind) ?? -Infinity) < this.#intervalMs) return false;
    this.#sampledAt.set(kind, now);
    return true;
  }
}
