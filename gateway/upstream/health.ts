import type { FailureClass } from './reply.ts';

const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 30_000;
/** A used-up plan, refused credentials or a wrong chain do not mend themselves in seconds. */
const LONG_REST_MS = 60_000;
/** Whoever asks to be left alone for longer is tried all the same. */
const LONGEST_WISH_MS = 10 * 60_000;

/** While a rest is over and its outcome open, so much time lies between one trial and the next. */
const TRIAL_MS = 1_000;

/**
 * Whether an upstream is worth asking. A failing one rests for a doubling while, and is then tried with a real call;
 * the others go elsewhere until that one was answered.
 */
export class Health {
  #failures = 0;
  #restsUntil = 0;
  #isOnTrial = false;

  /** False from a failure until the next success. */
  get isUp(): boolean {
    return this.#failures === 0;
  }

  /** Whether a call may go there now. The first to ask when a rest is over is let through by itself. */
  letsThrough(now: number): boolean {
    if (this.#failures === 0) return true;
    if (now < this.#restsUntil) return false;
    this.#restsUntil = now + TRIAL_MS;
    this.#isOnTrial = true;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#restsUntil = 0;
    this.#isOnTrial = false;
  }

  /**
   * Failures of the call rather than of the upstream leave its health alone; that it replied shows that it is there.
   * @param retryAfterMs how long the upstream asked to be left alone, which goes before our own guess
   * @returns whether it was up until now
   */
  failed(failure: FailureClass, now: number, retryAfterMs?: number, hasReplied = false): boolean {
    // Calls that were under way together fail together, which is one failure; so is what is asked of it as a last resort.
    const isAnother = now >= this.#restsUntil || this.#isOnTrial;
    const guess = restFor(failure, isAnother ? this.#failures : this.#failures - 1);
    if (guess === undefined) {
      if (hasReplied) this.succeeded();
      return false;
    }
    const rest = retryAfterMs === undefined ? guess : Math.min(retryAfterMs, LONGEST_WISH_MS);
    const wasUp = this.isUp;
    if (isAnother) this.#failures++;
    this.#restsUntil = Math.max(this.#restsUntil, now + rest);
    this.#isOnTrial = false;
    return wasUp;
  }
}

/** What becomes of an upstream after a failure of each class; the compiler sees that none is forgotten. */
const rests: Readonly<Record<FailureClass, 'growing' | 'long' | 'none'>> = {
  transport: 'growing',
  malformed: 'growing',
  rate: 'growing',
  quota: 'long',
  auth: 'long',
  'wrong-chain': 'long',
  // The call's affair: the next call may be answered.
  slow: 'none',
  unsupported: 'none',
  'too-large': 'none',
  'not-found': 'none',
  'node-state': 'none',
  unknown: 'none',
};

function restFor(failure: FailureClass, failuresBefore: number): number | undefined {
  switch (rests[failure]) {
    case 'growing':
      return Math.min(FIRST_REST_MS * 2 ** Math.min(failuresBefore, 10), LONGEST_REST_MS);
    case 'long':
      return LONG_REST_MS;
    case 'none':
      return undefined;
  }
}
