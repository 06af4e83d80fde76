/** Further attempts and hedges, as parts of the calls of the last seconds, beyond some that are always free. */
const SHARE = 0.2;
const FREE = 20;
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
  #before: Counts = { calls: 0, extra: 0 };
  #since = -Infinity;

  called(now: number): void {
    this.#turn(now);
    this.#current.calls++;
  }

  /** Counts one that is made in any case. */
  note(): void {
    this.#current.extra++;
  }

  /** Counts one where there is room for it. @returns whether there is */
  draw(now: number): boolean {
    this.#turn(now);
    const calls = this.#current.calls + this.#before.calls;
    if (this.#current.extra + this.#before.extra >= FREE + SHARE * calls) return false;
    this.#current.extra++;
    return true;
  }

  #turn(now: number): void {
    if (now - this.#since < HALF_WINDOW_MS) return;
    this.#before = now - this.#since < 2 * HALF_WINDOW_MS ? this.#current : { calls: 0, extra: 0 };
    this.#current = { calls: 0, extra: 0 };
    this.#since = now;
  }
}
