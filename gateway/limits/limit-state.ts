import type { Reason } from '../jsonrpc/errors.ts';
import type { KeyLimits } from '../auth/key-access.ts';
import type { Rate } from '../auth/permissions/permissions.ts';

/** What one body asks of a key's limits: the weights of its calls. */
export interface Charge {
  readonly units: number;
  /** Of methods that have a limit of their own. */
  readonly byMethod: ReadonlyMap<string, number>;
}

/**
 * What an account has used. A bucket is one number: when it will be full again, on the clock of performance.now(); what
 * is missing until then has been used (the generic cell rate algorithm: in any time t no more than burst + rate × t).
 */
export interface LimitState {
  /** By method; the whole key's under ''. */
  readonly fullAt: Map<string, number>;
  day: string;
  dayUsed: number;
  month: string;
  monthUsed: number;
}

export function newLimitState(): LimitState {
  return { fullAt: new Map(), day: '', dayUsed: 0, month: '', monthUsed: 0 };
}

/** How many of what a caller has left, for the RateLimit headers. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Until all of `limit` is there again. */
  readonly resetS: number;
}

export interface Shortage {
  readonly reason: Reason;
  /** Seconds until the same charge may pass; undefined: it never will, being more than the limit allows at once. */
  readonly waitS: number | undefined;
}

export interface UtcDate {
  /** `2026-01-31` */
  readonly day: string;
  /** `2026-01` */
  readonly month: string;
  readonly nextDay: string;
  readonly nextMonth: string;
  readonly dayEndsInS: number;
  readonly monthEndsInS: number;
}

/** What keeps a charge from being taken, if anything. Changes nothing but what has passed, or was from before a change. */
export function shortageOf(
  state: LimitState,
  limits: KeyLimits,
  { units, byMethod }: Charge,
  now: number,
  date: UtcDate,
): Shortage | undefined {
  startNewPeriods(state, date);
  const { daily, monthly, rate, methodRates } = limits;
  if (daily !== undefined && state.dayUsed + units > daily) {
    return { reason: 'daily-quota', waitS: units > daily ? undefined : date.dayEndsInS };
  }
  if (monthly !== undefined && state.monthUsed + units > monthly) {
    return { reason: 'monthly-quota', waitS: units > monthly ? undefined : date.monthEndsInS };
  }
  let waitMs = rate === undefined ? 0 : waitFor(state, '', rate, units, now);
  for (const [method, part] of byMethod) {
    const own = methodRates?.get(method);
    if (own !== undefined) waitMs = Math.max(waitMs, waitFor(state, method, own, part, now));
  }
  if (waitMs <= 0) return undefined;
  return { reason: 'rate-limit', waitS: waitMs === Infinity ? undefined : Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** Takes a charge, whether there is enough or not. */
export function take(
  state: LimitState,
  limits: KeyLimits,
  { units, byMethod }: Charge,
  now: number,
  date: UtcDate,
): void {
  startNewPeriods(state, date);
  state.dayUsed += units;
  state.monthUsed += units;
  if (limits.rate !== undefined) addToBucket(state, '', limits.rate, units, now);
  for (const [method, part] of byMethod) {
    const own = limits.methodRates?.get(method);
    if (own !== undefined) addToBucket(state, method, own, part, now);
  }
}

/** That of the limits which is nearest to its end, methods' own left out. */
export function allowanceOf(state: LimitState, limits: KeyLimits, now: number, date: UtcDate): Allowance | undefined {
  const { rate, daily, monthly } = limits;
  let nearest: Allowance | undefined;
  if (rate !== undefined) {
    // Less what adding fractions loses, as in `waitFor`.
    const missingMs = fullAtOf(state, '', rate, now) - now;
    const left = rate.burst - (missingMs * rate.perSecond) / 1000;
    nearest = tighter(nearest, rate.burst, left, Math.ceil((missingMs - 0.001) / 1000));
  }
  if (daily !== undefined) nearest = tighter(nearest, daily, daily - state.dayUsed, date.dayEndsInS);
  if (monthly !== undefined) nearest = tighter(nearest, monthly, monthly - state.monthUsed, date.monthEndsInS);
  return nearest;
}

function tighter(current: Allowance | undefined, limit: number, left: number, resetS: number): Allowance {
  const remaining = Math.max(0, Math.floor(left + 1e-6));
  return current !== undefined && current.remaining <= remaining ? current : { limit, remaining, resetS };
}

/** Dates go forward, since another gateway's clock may be ahead of ours; by more than one it was wrong. */
function startNewPeriods(state: LimitState, { day, month, nextDay, nextMonth }: UtcDate): void {
  if (day > state.day || state.day > nextDay) Object.assign(state, { day, dayUsed: 0 });
  if (month > state.month || state.month > nextMonth) Object.assign(state, { month, monthUsed: 0 });
}

/** When a bucket is full. One that would take longer than an empty one is from before its limit was changed: it is empty. */
function fullAtOf(state: LimitState, bucket: string, { perSecond, burst }: Rate, now: number): number {
  const fullAt = state.fullAt.get(bucket) ?? now;
  const latest = now + (burst * 1000) / perSecond;
  if (fullAt > latest) state.fullAt.set(bucket, latest);
  return Math.min(Math.max(now, fullAt), latest);
}

function waitFor(state: LimitState, bucket: string, rate: Rate, units: number, now: number): number {
  const { perSecond, burst } = rate;
  if (units > burst) return Infinity;
  const fullAt = fullAtOf(state, bucket, rate, now) + (units * 1000) / perSecond;
  // A thousandth of a millisecond: what adding fractions loses.
  return fullAt - now - (burst * 1000) / perSecond - 0.001;
}

function addToBucket(state: LimitState, bucket: string, rate: Rate, units: number, now: number): void {
  const { perSecond, burst } = rate;
  const fullAt = fullAtOf(state, bucket, rate, now) + (units * 1000) / perSecond;
  // Where there was not enough, it is not owed for ever.
  state.fullAt.set(bucket, Math.min(fullAt, now + (burst * 1000) / perSecond));
}
