/** Blocks in a row that came when they were expected, after which the next one is predicted. */
const REGULAR_BLOCKS = 3;

/** Between two polls around the expected time: a 24th of the block time. */
const STEP_SHARE = 1 / 24;
const MIN_STEP_MS = 100;
const MAX_STEP_MS = 500;
/** Steps after the expected time, after which the block is late. */
const LATE_STEPS = 4;

/**
 * Predicts when the next head of a network with regular blocks can be polled. The time at which a head is seen is late by up
 * to a poll interval, so the first poll for the next one is a step earlier than a block time later. While that finds the new
 * head at once, the lead doubles; when it does not, polls follow in steps.
 */
export class HeadPrediction {
  #number = -1n;
  #seenAt = -Infinity;
  #regularBlocks = 0;
  #leadMs = 0;
  /** Polls for the next head at its expected time. */
  #polls = 0;

  /** The network has a new head. @param now by clock.now() */
  seen(number: bigint, now: number, blockMs: number | undefined): void {
    const isNext = number === this.#number + 1n;
    if (blockMs !== undefined && isNext) {
      const stepMs = stepOf(blockMs);
      const lateMs = now - this.#seenAt - blockMs;
      // A poll that is earlier by the lead may find the head as much earlier.
      const isRegular = lateMs >= -this.#leadMs - stepMs && lateMs <= LATE_STEPS * stepMs;
      this.#regularBlocks = isRegular ? this.#regularBlocks + 1 : 0;
      const isFirstPoll = this.#polls === 1;
      this.#leadMs = isRegular && isFirstPoll ? Math.min(2 * this.#leadMs, blockMs / 2) : stepMs;
    } else this.#regularBlocks = 0;
    this.#number = number;
    this.#seenAt = now;
    this.#polls = 0;
  }

  /** A poll for the next head begins at its expected time. */
  polled(): void {
    this.#polls++;
  }

  /** When the next head is to be polled, by clock.now(): the past if it is now. Undefined: it cannot be predicted. */
  nextPollAt(now: number, blockMs: number | undefined): number | undefined {
    if (blockMs === undefined || this.#regularBlocks < REGULAR_BLOCKS) return undefined;
    const expectedAt = this.#seenAt + blockMs;
    if (now > expectedAt + LATE_STEPS * stepOf(blockMs)) return undefined;
    return expectedAt - this.#leadMs;
  }
}

/** Time between two polls around the expected time. */
export function stepOf(blockMs: number): number {
  return Math.min(Math.max(blockMs * STEP_SHARE, MIN_STEP_MS), MAX_STEP_MS);
}
