import type { Reason } from '../jsonrpc/errors.ts';
import type { KeyLimits, Rate } from '../auth/permissions/key-limits.ts';

/** The request units of one request body. */
export interface Charge {
  readonly units: number;
  /** Request units by method, only for methods with a rate of their own. */
  readonly byMethod: ReadonlyMap<string, number>;
}

/**
 * Usage of an account. A bucket is one number: the time at which it is full again, on the clock of performance.now().
 * This is the generic cell rate algorithm: in any time t at most burst + rate × t passes.
 */
export interface LimitState {
  /** By method; the bucket of the key has the name ''. */
  readonly fullAt: Map<string, number>;
  day: string;
  dayUsed: number;
  month: string;
  monthUsed: number;
}

export function newLimitState(): LimitState {
  return { fullAt: new Map(), day: '', dayUsed: 0, month: '', monthUsed: 0 };
}

/** The values of the RateLimit headers. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until `remaining` is `limit` again. */
  readonly resetS: number;
}

/** The limit that rejects a charge. */
export interface Shortage {
  readonly reason: Reason;
  /** Seconds until the same charge can be taken; undefined if it exceeds the limit even of an unused account. */
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

/** Returns the limit that rejects a charge, if any. Does not charge: it only resets periods that have ended. */
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

/** Takes a charge without checking the limits. */
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

/** Returns the allowance of the limit with the least remaining units, without the rates of single methods. */
export function allowanceOf(state: LimitState, limits: KeyLimits, now: number, date: UtcDate): Allowance | undefined {
  const { rate, daily, monthly } = limits;
  let nearest: Allowance | undefined;
  if (rate !== undefined) {
    // The tolerance is for rounding errors, as in `waitFor`.
    const missingMs = fullAtOf(state, '', rate, now) - now;
    const available = rate.burst - (missingMs * rate.perSecond) / 1000;
    nearest = tighter(nearest, rate.burst, available, Math.ceil((missingMs - 0.001) / 1000));
  }
  if (daily !== undefined) nearest = tighter(nearest, daily, daily - state.dayUsed, date.dayEndsInS);
  if (monthly !== undefined) nearest = tighter(nearest, monthly, monthly - state.monthUsed, date.monthEndsInS);
  return nearest;
}

function tighter(current: Allowance | undefined, limit: number, available: number, resetS: number): Allowance {
  const remaining = Math.max(0, Math.floor(available + 1e-6));
  return current !== undefined && current.remaining <= remaining ? current : { limit, remaining, resetS };
}

/** The stored date may be one period ahead, from a gateway with a faster clock. If it is further ahead, it is reset. */
function startNewPeriods(state: LimitState, { day, month, nextDay, nextMonth }: UtcDate): void {
  if (day > state.day || state.day > nextDay) Object.assign(state, { day, dayUsed: 0 });
  if (month > state.month || state.month > nextMonth) Object.assign(state, { month, monthUsed: 0 });
}

/** Time at which a bucket is full. If it is later than for an empty bucket, the limit has changed: the bucket is empty. */
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
  // A tolerance of 0.001 ms for rounding errors.
  return fullAt - now - (burst * 1000) / perSecond - 0.001;
}

function addToBucket(state: LimitState, bucket: string, rate: Rate, units: number, now: number): void {
  const { perSecond, burst } = rate;
  const fullAt = fullAtOf(state, bucket, rate, now) + (units * 1000) / perSecond;
  // A charge beyond the bucket empties it, and does not delay later charges further.
  state.fullAt.set(bucket, Math.min(fullAt, now + (burst * 1000) / perSecond));
}
