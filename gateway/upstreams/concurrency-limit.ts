import type { Account } from '../admission/account.ts';
import type { Gate } from '../admission/gate.ts';
import type { MethodSpec } from '../spec/method-spec.ts';

/** The lowest limit that is found. */
const MIN_LIMIT = 8;
/** Share of the limit that stays after refusals. */
const REFUSED_SHARE = 0.93;

/** A lookup that takes longer has waited at the upstream, if none that began after it was quicker. */
const WAITED_MS = 2_000;
/** Share of the calls in progress that stays: an upstream also works on calls whose time was over, which the gateway counts no more. */
const WAITED_SHARE = 1 / 3;
/** Slow lookups of a caller with most of the calls in progress, or of many callers, leave so many. */
const MAX_WAITED_MIN = 32;

/** Part of the limit by which it rises, after a second and as many calls as it has, while calls wait. */
const RAISED_PART = 1 / 16;
const RAISE_INTERVAL_MS = 1_000;
/** Time without a higher limit after a lower one; it doubles each time, until none was too high for the longest time. */
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 600_000;

/** The end of a call at the upstream. */
export interface EndedCall {
  readonly method: Pick<MethodSpec, 'group' | 'reverts' | 'executes' | 'isPassThrough'>;
  /** Undefined: several accounts. */
  readonly owner: Account | undefined;
  /** Time when the call had its slot, by clock.now(). */
  readonly startedAt: number;
  /** The upstream responded that it gets too many requests. */
  readonly isRefused: boolean;
}

/**
 * Finds how many calls an upstream works on at once, and sets the slots of its gate: additive increase, multiplicative
 * decrease. Refusals of most callers lower the limit, and a lookup of seconds where one was quick before. Calls that
 * wait for a slot raise it. Calls that run code may take long: callers choose that.
 */
export class ConcurrencyLimit {
  readonly #slots: Gate;
  readonly #min: number;
  readonly #max: number;
  /** Earlier calls say nothing: after a lower limit, the calls before have the upstream until no more than the limit are there. */
  #countedFrom = -Infinity;
  /** Callers that were refused since the last change. */
  readonly #refused = new Set<Account | undefined>();
  /** Time when the newest quick lookup began. Undefined: none was quick yet. */
  #quickAt: number | undefined;
  #raiseAt = -Infinity;
  #pauseMs = FIRST_PAUSE_MS;
  /** Calls that were served since the last change. */
  #served = 0;

  /** @param slots with the highest limit */
  constructor(slots: Gate) {
    this.#slots = slots;
    this.#max = slots.size;
    this.#min = Math.min(MIN_LIMIT, slots.size);
  }

  get limit(): number {
    return this.#slots.size;
  }

  get isLowered(): boolean {
    return this.limit < this.#max;
  }

  /** Records the end of a call, which has left its slot. @param now by clock.now() */
  record({ method, owner, startedAt, isRefused }: EndedCall, now: number): void {
    const { inFlight } = this.#slots;
    if (this.#countedFrom === Infinity && inFlight <= this.limit) this.#countedFrom = now;
    const isCounted = startedAt >= this.#countedFrom;
    if (isRefused) {
      // With fewer calls in progress, too many requests are no matter of concurrency.
      if (isCounted && inFlight >= this.#min) this.#refused.add(owner);
      if (2 * this.#refused.size > this.#slots.callers) this.#lower(this.limit * REFUSED_SHARE, now);
    } else if (this.#hasWaited(method, startedAt, now) && isCounted) this.#lowerByWait(owner, now);
    else this.#raise(now);
  }

  /** Whether a lookup waited at the upstream, which was quick with fewer calls. */
  #hasWaited(method: EndedCall['method'], startedAt: number, now: number): boolean {
    if (method.group !== 'lookup' || runsCode(method)) return false;
    const isNewest = this.#quickAt === undefined || startedAt > this.#quickAt;
    if (now - startedAt >= WAITED_MS) return isNewest && this.#quickAt !== undefined;
    if (isNewest) this.#quickAt = startedAt;
    return false;
  }

  /** A caller that is alone may choose slow lookups. */
  #lowerByWait(owner: Account | undefined, now: number): void {
    const { callers } = this.#slots;
    const inProgress = Math.min(this.limit, this.#slots.inFlight);
    const isOfMain = owner !== undefined && 2 * this.#slots.takenBy(owner) > inProgress;
    const min = isOfMain ? MAX_WAITED_MIN : Math.min(MIN_LIMIT * callers, MAX_WAITED_MIN);
    const limit = Math.max(inProgress * WAITED_SHARE, min);
    if (limit < inProgress) this.#lower(limit, now);
  }

  #lower(limit: number, now: number): void {
    this.#countedFrom = Infinity;
    this.#refused.clear();
    this.#served = 0;
    this.#slots.size = Math.max(Math.floor(limit), this.#min);
    if (this.#raiseAt > now) return;
    if (now - this.#raiseAt > MAX_PAUSE_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#raiseAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
  }

  #raise(now: number): void {
    if (!this.isLowered || !this.#slots.hasWaiting || now < this.#raiseAt || ++this.#served < this.limit) return;
    this.#served = 0;
    this.#refused.clear();
    this.#raiseAt = now + RAISE_INTERVAL_MS;
    this.#slots.size = Math.min(this.limit + Math.ceil(this.limit * RAISED_PART), this.#max);
  }
}

/** Whether callers choose how long such a call takes. */
export function runsCode({ group, reverts, executes, isPassThrough }: EndedCall['method']): boolean {
  return reverts || executes === true || isPassThrough === true || (group !== 'lookup' && group !== 'list');
}
