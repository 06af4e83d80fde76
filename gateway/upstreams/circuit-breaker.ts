import type { CircuitState } from '../metrics/routing-metrics.ts';
import type { FailureClass } from './transport/upstream-response.ts';

const FIRST_COOLDOWN_MS = 1_000;
const MAX_COOLDOWN_MS = 30_000;
/** A used-up plan, refused credentials or a wrong chain do not mend themselves in seconds. */
const LONG_COOLDOWN_MS = 60_000;
/** Whoever asks to be left alone for longer is tried all the same. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** While a rest is over and its outcome open, so much time lies between one trial and the next. */
const TRIAL_INTERVAL_MS = 1_000;

/** Calls that took too long, beyond those answered meanwhile, after which it is the upstream that is too slow. */
const MAX_SLOW_CALLS = 5;

/**
 * Whether an upstream is worth asking: its circuit breaker. A failing one rests for a doubling while (open), and is then
 * tried with a real call (half-open); the others go elsewhere until that one was answered (closed).
 *
 * It is not cockatiel's: that one counts what is thrown, and knows neither how long an upstream asked to be left alone
 * (`Retry-After`), nor failures that are the call's affair, nor a last resort when all are open; it wraps each call in
 * promises of its own, and what it does here are the forty lines below.
 */
export class CircuitBreaker {
  readonly #random: () => number;
  #slow = 0;
  #failures = 0;
  #openUntil = 0;
  #isHalfOpen = false;

  /** @param random from 0 to 1: our own guesses at a rest are up to a quarter shorter, so that many do not end at once */
  constructor(random = Math.random) {
    this.#random = random;
  }

  /** False from a failure until the next success. */
  get isClosed(): boolean {
    return this.#failures === 0;
  }

  get state(): CircuitState {
    if (this.isClosed) return 'closed';
    return this.#isHalfOpen ? 'half-open' : 'open';
  }

  /** Whether a call may go there now. The first to ask when a rest is over is let through by itself. */
  allowsCall(now: number): boolean {
    if (this.#failures === 0) return true;
    if (now < this.#openUntil) return false;
    this.#openUntil = now + TRIAL_INTERVAL_MS;
    this.#isHalfOpen = true;
    return true;
  }

  /** Whether it has been left alone for long enough. */
  isCooldownOver(now: number): boolean {
    return now >= this.#openUntil;
  }

  recordSuccess(): void {
    if (this.#slow > 0) this.#slow--;
    this.#failures = 0;
    this.#openUntil = 0;
    this.#isHalfOpen = false;
  }

  /**
   * Failures of the call rather than of the upstream leave its health alone; that it replied shows that it is there.
   * @param retryAfterMs how long the upstream asked to be left alone, which goes before our own guess
   * @returns whether it was up until now
   */
  recordFailure(failure: FailureClass, now: number, retryAfterMs?: number, hasResponded = false): boolean {
    if (failure === 'slow' && ++this.#slow < MAX_SLOW_CALLS) return false;
    // Calls that were under way together fail together, which is one failure; so is what is asked of it as a last resort.
    const isNewFailure = now >= this.#openUntil || this.#isHalfOpen;
    // What cannot be right of one method says nothing of the others.
    const isSuspect = failure === 'malformed' && hasResponded;
    const estimateMs = isSuspect ? undefined : cooldownFor(failure, isNewFailure ? this.#failures : this.#failures - 1);
    if (estimateMs === undefined) {
      if (hasResponded) this.recordSuccess();
      return false;
    }
    const cooldownMs =
      retryAfterMs === undefined ? estimateMs * (1 - this.#random() / 4) : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
    const wasClosed = this.isClosed;
    if (isNewFailure) this.#failures++;
    this.#openUntil = Math.max(this.#openUntil, now + cooldownMs);
    this.#isHalfOpen = false;
    this.#slow = 0;
    return wasClosed;
  }
}

/** What becomes of an upstream after a failure of each class; the compiler sees that none is forgotten. */
const cooldowns: Readonly<Record<FailureClass, 'growing' | 'long' | 'none'>> = {
  transport: 'growing',
  malformed: 'growing',
  rate: 'growing',
  quota: 'long',
  auth: 'long',
  'wrong-chain': 'long',
  // Only when it comes again and again: one by itself may be the call's affair.
  slow: 'growing',
  // The call's affair: the next call may be answered.
  unsupported: 'none',
  'too-large': 'none',
  'not-found': 'none',
  'node-state': 'none',
  'no-block': 'none',
  unknown: 'none',
};

function cooldownFor(failure: FailureClass, previousFailures: number): number | undefined {
  switch (cooldowns[failure]) {
    case 'growing':
      return Math.min(FIRST_COOLDOWN_MS * 2 ** Math.min(previousFailures, 10), MAX_COOLDOWN_MS);
    case 'long':
      return LONG_COOLDOWN_MS;
    case 'none':
      return undefined;
  }
}
