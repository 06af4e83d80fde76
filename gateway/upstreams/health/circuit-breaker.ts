import type { CircuitState } from '../../metrics/routing-metrics.ts';
import type { FailureClass } from '../transport/upstream-response.ts';

const FIRST_COOLDOWN_MS = 1_000;
const MAX_COOLDOWN_MS = 30_000;
/** An exhausted plan, rejected credentials and a wrong chain usually last longer than seconds. */
const LONG_COOLDOWN_MS = 60_000;
/** Upper bound for `Retry-After`. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** Time between two trial calls of a half-open circuit. */
const TRIAL_INTERVAL_MS = 1_000;

/** The circuit opens when slow calls exceed successful ones by this number. */
const MAX_EXCESS_SLOW_CALLS = 5;

/**
 * Opens the circuit of one upstream after failures, and closes it after a success. It does not select upstreams.
 * The cooldown of an open circuit doubles with each failure. After it, one real call per second is a trial (half-open).
 *
 * The cockatiel package does not fit. It counts exceptions, and supports neither `Retry-After`, nor failures that the
 * call causes, nor a last resort when all circuits are open. It also wraps each call in additional promises.
 */
export class CircuitBreaker {
  readonly #random: () => number;
  /** False from a failure until the next success. */
  isClosed = true;
  #excessSlowCalls = 0;
  #failures = 0;
  #openUntil = 0;
  #isHalfOpen = false;

  /** @param random from 0 to 1: jitter shortens estimated cooldowns by up to 25 %, so that they do not end together */
  constructor(random = Math.random) {
    this.#random = random;
  }

  get state(): CircuitState {
    if (this.isClosed) return 'closed';
    return this.#isHalfOpen ? 'half-open' : 'open';
  }

  /** Whether the upstream may get a call now. Unless the circuit is closed, true begins a trial. */
  tryBeginTrial(now: number): boolean {
    if (this.isClosed) return true;
    if (now < this.#openUntil) return false;
    this.#openUntil = now + TRIAL_INTERVAL_MS;
    this.#isHalfOpen = true;
    return true;
  }

  isCooldownOver(now: number): boolean {
    return now >= this.#openUntil;
  }

  recordSuccess(): void {
    if (this.#excessSlowCalls > 0) this.#excessSlowCalls--;
    this.isClosed = true;
    this.#failures = 0;
    this.#openUntil = 0;
    this.#isHalfOpen = false;
  }

  /**
   * Failures that the call causes do not open the circuit. If the upstream responded, they close it.
   * @param retryAfterMs from the upstream's `Retry-After`; replaces the estimated cooldown
   * @returns whether this failure opened a closed circuit
   */
  recordFailure(failure: FailureClass, now: number, retryAfterMs?: number, hasResponded = false): boolean {
    if (failure === 'slow' && ++this.#excessSlowCalls < MAX_EXCESS_SLOW_CALLS) return false;
    // Calls in flight together, and last-resort calls while the circuit is open, count as one failure.
    const isNewFailure = now >= this.#openUntil || this.#isHalfOpen;
    // An impossible result of one method does not concern the other methods.
    const isSuspectResult = failure === 'malformed' && hasResponded;
    const estimateMs = isSuspectResult
      ? undefined
      : cooldownFor(failure, isNewFailure ? this.#failures : this.#failures - 1);
    if (estimateMs === undefined) {
      if (hasResponded) this.recordSuccess();
      return false;
    }
    const cooldownMs =
      retryAfterMs === undefined ? estimateMs * (1 - this.#random() / 4) : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
    const wasClosed = this.isClosed;
    if (isNewFailure) this.#failures++;
    this.isClosed = this.#failures === 0;
    this.#openUntil = Math.max(this.#openUntil, now + cooldownMs);
    this.#isHalfOpen = false;
    this.#excessSlowCalls = 0;
    return wasClosed;
  }
}

/** The cooldown after a failure of each class; the type makes the table complete. */
const cooldowns: Readonly<Record<FailureClass, 'growing' | 'long' | 'none'>> = {
  transport: 'growing',
  malformed: 'growing',
  rate: 'growing',
  quota: 'long',
  auth: 'long',
  'wrong-chain': 'long',
  // Only after MAX_EXCESS_SLOW_CALLS: a single slow call may be caused by the call itself.
  slow: 'growing',
  // Caused by the call: the next call may succeed.
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
