import { random } from '../../clock/random.ts';
import type { CircuitState } from '../../metrics/history.ts';
import type { FailureClass } from '../transport/upstream-response.ts';

const FIRST_COOLDOWN_MS = 1_000;
const MAX_COOLDOWN_MS = 30_000;
/** An exhausted plan, rejected credentials and a wrong chain usually last longer than seconds. */
const LONG_COOLDOWN_MS = 60_000;
/** Upper bound for `Retry-After`, and MAX_COOLDOWN_MS for one that only the calls of one caller got. */
export const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** A closed circuit opens after this many failures of calls without a response in between. */
const FAILURES_IN_A_ROW = 3;

/** Time between two trial calls of a half-open circuit. */
const TRIAL_INTERVAL_MS = 1_000;

/** The circuit opens when slow calls exceed successful ones by this number. */
const MAX_EXCESS_SLOW_CALLS = 5;

/** The call that failed. A failure of the gateway's own request, or of a connection, has none. */
export interface FailedCall {
  /** The key or address; undefined: Gatehouse itself. */
  readonly owner: object | undefined;
  /** The code that the call executes, or the size of its result, may be the cause: so each owner counts once in a row. */
  readonly mayBeCause: boolean;
  /** The calls of one batch fail with one error, and count once. Undefined: the upstream responded. */
  readonly error: object | undefined;
  /** Time of sending, by clock.now(). */
  readonly sentAt: number;
  /** Another upstream served the call afterwards, so the call is not the cause. */
  readonly wasServed?: boolean;
  /** A hedged request responded first: the upstream was slow, and its attempt was cancelled. */
  readonly isOvertaken?: boolean;
  /** Whether the failure did not count in full, because the call may be the cause. */
  isIgnored?: boolean;
}

/**
 * Opens the circuit of one upstream after failures, and closes it after a success. It does not select upstreams.
 * It opens after 3 failures in a row, or at once if no call can be the cause, also by the `Retry-After` of a lookup. What a call may
 * cause counts once per owner, and again if another upstream serves the call. The circuit of that one is closed then, so
 * one owner never opens all circuits.
 * The cooldown of an open circuit doubles with each failure. After it, one real call per second is a trial (half-open).
 *
 * The cockatiel package does not fit. It counts exceptions, and supports neither `Retry-After`, nor failures that the
 * call causes, nor a last resort when all circuits are open. It also wraps each call in additional promises.
 */
export class CircuitBreaker {
  readonly #jitter: () => number;
  /** Whether the circuit is closed: false from a failure until the next success. */
  isClosed = true;
  #excessSlowCalls = 0;
  #failures = 0;
  #openUntil = 0;
  #isHalfOpen = false;
  /** End of the pause that the upstream requested; 0: none. */
  #pausedUntil = 0;
  #pausedAt = 0;
  /** The circuit opened by failures of calls that others served. Polls that succeed do not shorten the cooldowns. */
  #isOpenedByServed = false;
  /** Failures of calls since the last response, until the circuit opened. */
  failuresInRow = 0;
  /** Each failure that counts was a call that a hedged request overtook. */
  isOnlyOvertaken = true;
  /** Owners of those that may be the cause of their failure. */
  readonly #suspects = new Set<unknown>();
  #lastError: object | undefined;
  /** Owners of the calls that got a `Retry-After` since the last success, two at most, and until when they pause. */
  readonly #pausedOwners = new Map<unknown, number>();

  /** @param jitter from 0 to 1: it shortens estimated cooldowns by up to 25 %, so that they do not end together */
  constructor(jitter = () => random.number()) {
    this.#jitter = jitter;
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

  /**
   * The remaining time for which the upstream asked with `Retry-After`; undefined: it did not, or the time is over.
   * @param owner of a call, which pauses alone if its call may be the cause
   */
  pauseMs(now: number, owner?: object): number | undefined {
    const until = this.#pausedOwners.size === 0 ? 0 : (this.#pausedOwners.get(owner) ?? 0);
    const pausedUntil = Math.max(this.#pausedUntil, until);
    return now < pausedUntil ? pausedUntil - now : undefined;
  }

  /**
   * @param sentAt a request from before `Retry-After` does not end its time
   * @param isOwn a request of the gateway itself
   */
  recordSuccess(sentAt = Infinity, isOwn = false): void {
    if (this.#excessSlowCalls > 0) this.#excessSlowCalls--;
    if (this.#excessSlowCalls === 0) this.isOnlyOvertaken = true;
    if (sentAt >= this.#pausedAt) this.#pausedUntil = 0;
    this.failuresInRow = 0;
    if (this.#suspects.size > 0) this.#suspects.clear();
    if (this.#pausedOwners.size > 0) this.#pausedOwners.clear();
    this.isClosed = true;
    if (!isOwn || !this.#isOpenedByServed) this.#failures = 0;
    this.#openUntil = 0;
    this.#isHalfOpen = false;
  }

  /**
   * Failures that the call causes do not open the circuit. If the upstream responded, they close it.
   * @param retryAfterMs from the upstream's `Retry-After`; replaces the estimated cooldown
   * @param call undefined: no call is the cause
   * @returns whether this failure opened a closed circuit
   */
  recordFailure(
    failure: FailureClass,
    now: number,
    retryAfterMs?: number,
    hasResponded = false,
    call?: FailedCall,
  ): boolean {
    if (failure === 'slow') {
      if (this.#isRepeated(call)) return false;
      this.#count(call);
      if (++this.#excessSlowCalls < MAX_EXCESS_SLOW_CALLS) return false;
    }
    // Calls in flight together, and last-resort calls while the circuit is open, count as one failure.
    const isNewFailure = now >= this.#openUntil || this.#isHalfOpen;
    // An impossible result of one method does not concern the other methods.
    const isSuspectResult = failure === 'malformed' && hasResponded;
    const estimateMs = isSuspectResult
      ? undefined
      : cooldownFor(failure, isNewFailure ? this.#failures : this.#failures - 1);
    if (estimateMs === undefined) {
      if (hasResponded) this.recordSuccess(call?.sentAt);
      return false;
    }
    const owners = this.#pausedOwners;
    if (retryAfterMs !== undefined && call !== undefined && (owners.size < 2 || owners.has(call.owner)))
      owners.set(call.owner, call.owner === undefined ? 0 : now + Math.min(retryAfterMs, MAX_COOLDOWN_MS));
    if (call !== undefined && failure !== 'slow') {
      // A trial of one caller neither opens nor closes the circuit by what the caller may have caused.
      if (this.#isRepeated(call)) return false;
      if (call.mayBeCause && !this.isClosed) {
        call.isIgnored = true;
        return false;
      }
      const isPaused = retryAfterMs !== undefined && !call.mayBeCause;
      if (this.isClosed && !isPaused && call.error !== undefined && call.error === this.#lastError) return false;
      this.#lastError = call.error;
      this.#count(call);
      // It counts once more, and opens the circuit, if another upstream serves the call.
      if (retryAfterMs !== undefined) call.isIgnored = call.mayBeCause;
      if (this.isClosed && ++this.failuresInRow < FAILURES_IN_A_ROW && !isPaused) return false;
    }
    const maxPauseMs = call === undefined || this.#pausedOwners.size > 1 ? MAX_RETRY_AFTER_MS : MAX_COOLDOWN_MS;
    const cooldownMs =
      retryAfterMs === undefined ? estimateMs * (1 - this.#jitter() / 4) : Math.min(retryAfterMs, maxPauseMs);
    if (call === undefined) this.#count(call);
    const wasClosed = this.isClosed;
    if (isNewFailure) this.#failures++;
    this.isClosed = this.#failures === 0;
    this.#openUntil = Math.max(this.#openUntil, now + cooldownMs);
    if (retryAfterMs !== undefined) {
      this.#pausedUntil = this.#openUntil;
      this.#pausedAt = now;
    }
    this.#isOpenedByServed = call?.wasServed === true;
    this.#isHalfOpen = false;
    this.#excessSlowCalls = 0;
    this.#suspects.clear();
    return wasClosed;
  }

  #count(call: FailedCall | undefined): void {
    if (call?.isOvertaken !== true) this.isOnlyOvertaken = false;
  }

  /** Whether the owner of a call that may be the cause is counted in this row already. If not, it is now. */
  #isRepeated(call: FailedCall | undefined): boolean {
    if (call?.mayBeCause !== true || !this.isClosed) return false;
    if (this.#suspects.has(call.owner)) {
      call.isIgnored = true;
      return true;
    }
    this.#suspects.add(call.owner);
    return false;
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
  // The method is marked: its other methods may be right.
  disproved: 'none',
  unproven: 'none',
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
