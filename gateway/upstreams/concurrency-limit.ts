import { clock } from '../clock/clock.ts';
import type { Account } from '../admission/account.ts';
import type { Gate } from '../admission/gate.ts';
import type { MethodSpec } from '../spec/method-spec.ts';

/** The lowest limit that is found. */
const MIN_LIMIT = 8;
/** Share of the limit that stays after refusals. */
const REFUSED_SHARE = 0.93;
/** Time without a refusal after which the former ones no longer count. */
const REFUSED_MS = 10_000;

/** A lookup that takes longer has waited at the upstream, if none that began after it was quicker. */
const WAITED_MS = 2_000;
/** Share of the calls in progress that stays: an upstream also works on calls whose time was over, which the gateway counts no more. */
const WAITED_SHARE = 1 / 3;
/** Slow lookups of a caller with most of the calls in progress, or of many callers, leave so many. */
const MAX_WAITED_MIN = 32;

/** Lookups in a row that are slower than quick ones of the same caller by this show that calls of others delay them. */
const DELAYED_LOOKUPS = 3;
const DELAYED_RATIO = 1.5;
const DELAYED_MIN_MS = 30;
/** Part by which the latency of a quick lookup rises with each slower one, while few calls are in progress. */
const QUICK_RAISED_PART = 1 / 16;

/** Part of the limit by which it rises, after a second and as many calls as it has, while calls wait. */
const RAISED_PART = 1 / 16;
const RAISE_INTERVAL_MS = 1_000;
/** Time without a higher limit after a lower one; it doubles each time, until none was too high for the longest time. */
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 600_000;

/** The start of a call at the upstream. */
export interface StartedCall {
  readonly method: Pick<MethodSpec, 'group' | 'reverts' | 'executes' | 'isPassThrough'>;
  /** Owner of the call; undefined: several accounts. */
  readonly owner: Account | undefined;
  /** Time when the call had its slot, by clock.now(). */
  readonly startedAt: number;
}

/** The end of a call at the upstream. */
export interface EndedCall extends StartedCall {
  /** The upstream responded that it gets too many requests. */
  readonly isRefused: boolean;
}

/**
 * Finds how many calls an upstream works on at once, and sets the slots of its gate: additive increase, multiplicative
 * decrease. Refusals of most callers lower the limit, a lookup of seconds where one was quick before, and slower lookups
 * of a caller with few calls while others wait for slots. Calls that wait for a slot raise it. Calls that run code may
 * take long: callers choose that.
 */
export class ConcurrencyLimit {
  readonly #slots: Gate;
  readonly #min: number;
  readonly #max: number;
  /** Time before which calls say nothing: after a lower limit, those have the upstream until no more than the limit are there. */
  #countedFrom = -Infinity;
  /** Callers that were refused since the last change. */
  readonly #refused = new Set<Account | undefined>();
  /** Time when the newest quick lookup began. Undefined: none was quick yet. */
  #quickAt: number | undefined;
  /** Latency of a quick lookup of each caller. */
  readonly #quickMs = new WeakMap<Account, number>();
  /** Latencies of the newest lookups that others delayed, as multiples of a quick one. */
  #delays: number[] = [];
  #isWatching = false;
  #refusedAt = -Infinity;
  /** End of the pause after a lower limit. */
  #pausedUntil = -Infinity;
  #pauseMs = FIRST_PAUSE_MS;
  #raisedAt = -Infinity;
  /** Calls that were served while others waited and the limit might rise. */
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

  /**
   * Records a lookup that is still in progress after 2 s, because its end may come much later. One lookup at a time is
   * watched, of a caller without most of the calls in progress.
   * @param call has its slot @param end settles at its end
   */
  watch(call: StartedCall, end: Promise<unknown>): void {
    const { method, owner, startedAt } = call;
    if (this.#isWatching || this.#slots.inFlight < this.#min || !isLookup(method)) return;
    if (owner === undefined || this.#slots.waitersOf(owner) > 0 || this.#isOfMain(owner)) return;
    this.#isWatching = true;
    const timer = clock
      .setTimeout(() => {
        const now = startedAt + WAITED_MS;
        if (this.#hasWaited(startedAt, now) && startedAt >= this.#countedFrom) this.#lowerByWait(owner, now);
      }, WAITED_MS)
      .unref();
    const ended = (): void => {
      clock.clearTimeout(timer);
      this.#isWatching = false;
    };
    end.then(ended, ended);
  }

  /** Records the end of a call, which has left its slot. @param now by clock.now() */
  record({ method, owner, startedAt, isRefused }: EndedCall, now: number): void {
    const { inFlight } = this.#slots;
    if (this.#countedFrom === Infinity && inFlight <= this.limit) this.#countedFrom = now;
    const isCounted = startedAt >= this.#countedFrom;
    if (isRefused) {
      // With fewer calls in progress, too many requests are no matter of concurrency.
      if (isCounted && inFlight >= this.#min) this.#lowerByRefusal(owner, now);
      return;
    }
    const isOfLookup = isLookup(method);
    const hasWaited = isOfLookup && this.#hasWaited(startedAt, now);
    const isDelayed = isOfLookup && owner !== undefined && this.#isDelayed(owner, now - startedAt, isCounted);
    if (hasWaited && isCounted) this.#lowerByWait(owner, now);
    else if (isDelayed) this.#lowerByDelay(now);
    else this.#raise(now);
  }

  #lowerByRefusal(owner: Account | undefined, now: number): void {
    if (now - this.#refusedAt > REFUSED_MS) this.#refused.clear();
    this.#refusedAt = now;
    this.#refused.add(owner);
    if (2 * this.#refused.size > this.#slots.callers) this.#lower(this.limit * REFUSED_SHARE, now);
  }

  /** Whether a lookup waited at the upstream, which was quick with fewer calls. */
  #hasWaited(startedAt: number, now: number): boolean {
    const isNewest = this.#quickAt === undefined || startedAt > this.#quickAt;
    if (now - startedAt >= WAITED_MS) return isNewest && this.#quickAt !== undefined;
    if (isNewest) this.#quickAt = startedAt;
    return false;
  }

  /** A caller that is alone may choose slow lookups. */
  #lowerByWait(owner: Account | undefined, now: number): void {
    const { callers } = this.#slots;
    const inProgress = Math.min(this.limit, this.#slots.inFlight);
    const min =
      owner !== undefined && this.#isOfMain(owner) ? MAX_WAITED_MIN : Math.min(MIN_LIMIT * callers, MAX_WAITED_MIN);
    const limit = Math.max(inProgress * WAITED_SHARE, min);
    if (limit < inProgress) this.#lower(limit, now);
  }

  #isOfMain(owner: Account): boolean {
    return 2 * this.#slots.takenBy(owner) > Math.min(this.limit, this.#slots.inFlight);
  }

  /** Whether the newest lookups of callers with less than half of the mean calls in progress were slow, while calls wait. */
  #isDelayed(owner: Account, ms: number, isCounted: boolean): boolean {
    const { inFlight, callers, hasWaiting } = this.#slots;
    const knownMs = this.#quickMs.get(owner) ?? Infinity;
    const quickMs = Math.min(ms, inFlight < this.#min ? knownMs * (1 + QUICK_RAISED_PART) : knownMs);
    if (quickMs !== knownMs) this.#quickMs.set(owner, quickMs);
    if (!isCounted || !hasWaiting || 2 * callers * (this.#slots.takenBy(owner) + 1) > inFlight) return false;
    if (ms < DELAYED_RATIO * quickMs + DELAYED_MIN_MS) this.#delays = [];
    else this.#delays.push(ms / quickMs);
    return this.#delays.length >= DELAYED_LOOKUPS;
  }

  /** The latency rises with the calls beyond those that the upstream works on. */
  #lowerByDelay(now: number): void {
    const inProgress = Math.min(this.limit, this.#slots.inFlight);
    const limit = Math.max(inProgress / Math.min(...this.#delays), MAX_WAITED_MIN);
    this.#delays = [];
    if (limit < inProgress) this.#lower(limit, now);
  }

  #lower(limit: number, now: number): void {
    this.#countedFrom = Infinity;
    this.#refused.clear();
    this.#served = 0;
    this.#slots.size = Math.max(Math.floor(limit), this.#min);
    if (this.#pausedUntil > now) return;
    if (now - this.#pausedUntil > MAX_PAUSE_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#pausedUntil = now + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
  }

  #raise(now: number): void {
    if (!this.isLowered || !this.#slots.hasWaiting || now < this.#pausedUntil) return;
    if (now - this.#raisedAt < RAISE_INTERVAL_MS || ++this.#served < this.limit) return;
    this.#served = 0;
    this.#refused.clear();
    this.#raisedAt = now;
    this.#slots.size = Math.min(this.limit + Math.ceil(this.limit * RAISED_PART), this.#max);
  }
}

function isLookup(method: StartedCall['method']): boolean {
  return method.group === 'lookup' && !runsCode(method);
}

/** Whether callers choose how long such a call takes. */
export function runsCode({ group, reverts, executes, isPassThrough }: StartedCall['method']): boolean {
  return reverts || executes === true || isPassThrough === true || (group !== 'lookup' && group !== 'list');
}
