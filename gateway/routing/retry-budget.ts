/** Retries and hedges are limited to 20 plus 20 % of the calls of the last 5 to 10 s. */
const RETRY_SHARE = 0.2;
const FREE_ATTEMPTS = 20;
const HALF_WINDOW_MS = 5_000;

interface Counts {
  calls: number;
  extra: number;
}

/**
 * Limits the retries and hedges of one network, so that an outage does not double the load of the remaining upstreams.
 * Retries at an upstream with a closed circuit are counted, but always allowed. Hedges, and retries at upstreams with an
 * open circuit, need budget.
 */
export class RetryBudget {
  #current: Counts = { calls: 0, extra: 0 };
  #previous: Counts = { calls: 0, extra: 0 };
  #windowStart = -Infinity;

  countCall(now: number): void {
    this.#advance(now);
    this.#current.calls++;
  }

  /** Counts a retry that is made even without budget. */
  countExtra(): void {
    this.#current.extra++;
  }

  /** Counts a retry or hedge if the budget allows it. @returns whether it does */
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
