/** Further attempts and hedges, as parts of the calls of the last seconds, beyond some that are always free. */
const RETRY_SHARE = 0.2;
const FREE_ATTEMPTS = 20;
const HALF_WINDOW_MS = 5_000;

interface Counts {
  calls: number;
  extra: number;
}

/**
 * How many attempts a network may make beyond the first of each call, so that an outage does not double the load of what
 * is left. An attempt at an upstream that works is counted, and never refused: that is what it stands there for. It is
 * those that are likely to be in vain, or not needed, that must fit in.
 */
export class RetryBudget {
  #current: Counts = { calls: 0, extra: 0 };
  #previous: Counts = { calls: 0, extra: 0 };
  #windowStart = -Infinity;

  countCall(now: number): void {
    this.#advance(now);
    this.#current.calls++;
  }

  /** Counts one that is made in any case. */
  countExtra(): void {
    this.#current.extra++;
  }

  /** Counts one where there is room for it. @returns whether there is */
  takeExtra(now: number): boolean {
    this.#advance(now);
    const calls = this.#current.calls + this.#previous.calls;
    if (this.#current.extra + this.#previous.extra >= FREE_ATTEMPTS + RETRY_SHARE * calls) return false;
    this.#current.extra++;
    return true;
  }

  #advance(now: number): void {
    if (now - this.#windowStart < HALF_WINDOW_MS) return;
    this.#previous = now - this.#windowStart < 2 * HALF_WINDOW_MS ? this.#current : { calls: 0, extra: 0 };
    this.#current = { calls: 0, extra: 0 };
    this.#windowStart = now;
  }
}
