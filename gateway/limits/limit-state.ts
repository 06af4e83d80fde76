import type { Allowance, Reason } from '../jsonrpc/errors.ts';
import type { KeyLimits, Rate } from '../auth/permissions/key-limits.ts';

/** The request units of one request body. */
export interface Charge {
  /** In steps of 0.001. */
  readonly units: number;
  /** Request units by method, only for methods with a rate of their own. */
  readonly byMethod: ReadonlyMap<string, number>;
}

/** The units that a bucket lacked at a time, on the clock of performance.now(). More than its burst: it is in debt. */
export interface Bucket {
  missing: number;
  at: number;
}

/**
 * Usage of an account. A charge is admitted if its bucket has one unit, or the charge if that is less, and may put the
 * bucket in debt. So in any time t at most burst + rate × t + one charge passes. Quotas are never exceeded.
 */
export interface LimitState {
  /** By method; the bucket of the key has the name ''. */
  readonly buckets: Map<string, Bucket>;
  day: string;
  dayUsed: number;
  month: string;
  monthUsed: number;
}

export function newLimitState(): LimitState {
  return { buckets: new Map(), day: '', dayUsed: 0, month: '', monthUsed: 0 };
}

/** Units of a charge that a bucket must have. */
export const ADMISSION_UNITS = 1;

/** Above the rounding errors of sums of units, and below the cheapest charge. */
export const unitTolerance = 1e-6;

/** The limit that rejects a charge. */
export interface Shortage {
  readonly reason: Reason;
  /** The field of the key, and the method if the limit is that of a method. */
  readonly limit: string;
  /** Units of the charge that count for the limit, and those that the limit has. */
  readonly units: number;
  readonly available: number;
  /** Seconds until the same charge can be taken; undefined if it exceeds the quota even of an unused account. */
  readonly waitS: number | undefined;
  readonly allowance: Allowance | undefined;
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
  if (daily !== undefined && state.dayUsed + units > daily + unitTolerance)
    return quotaShortage(
      { reason: 'daily-quota', limit: 'daily' },
      units,
      daily,
      daily - state.dayUsed,
      date.dayEndsInS,
    );
  if (monthly !== undefined && state.monthUsed + units > monthly + unitTolerance)
    return quotaShortage(
      { reason: 'monthly-quota', limit: 'monthly' },
      units,
      monthly,
      monthly - state.monthUsed,
      date.monthEndsInS,
    );
  let waitMs = rate === undefined ? 0 : waitFor(state, '', rate, units, now);
  let longest = '';
  for (const [method, part] of byMethod) {
    const own = methodRates?.get(method);
    const ownMs = own === undefined ? 0 : waitFor(state, method, own, part, now);
    if (ownMs > waitMs) [waitMs, longest] = [ownMs, method];
  }
  const slowest = longest === '' ? rate : methodRates?.get(longest);
  if (waitMs <= 0 || slowest === undefined) return undefined;
  return {
    reason: 'rate-limit',
    limit: longest === '' ? 'rate' : `methodRates of ${longest}`,
    units: longest === '' ? units : (byMethod.get(longest) ?? 0),
    available: Math.max(0, slowest.burst - missingUnits(state, longest, slowest, now)),
    waitS: Math.max(1, Math.ceil(waitMs / 1000)),
    allowance: tighterRate(undefined, state, longest, slowest, now),
  };
}

/** The shortage if Redis is unavailable, or rejected the charge by a rounding error. The wait is the minimum. */
export function briefShortage(
  reason: Reason,
  limit: string,
  { units }: Charge,
  allowance: Allowance | undefined,
): Shortage {
  return { reason, limit, units, available: 0, waitS: 1, allowance };
}

function quotaShortage(
  quotaName: Pick<Shortage, 'reason' | 'limit'>,
  units: number,
  quota: number,
  available: number,
  endsInS: number,
): Shortage {
  return {
    ...quotaName,
    ...{ units, available },
    waitS: units > quota ? undefined : endsInS,
    allowance: tighter(undefined, quota, available, endsInS),
  };
}

/** Takes a charge without checking the limits. Negative units are given back. */
export function take(
  state: LimitState,
  limits: KeyLimits,
  { units, byMethod }: Charge,
  now: number,
  date: UtcDate,
): void {
  startNewPeriods(state, date);
  state.dayUsed = addUnits(state.dayUsed, units);
  state.monthUsed = addUnits(state.monthUsed, units);
  if (limits.rate !== undefined) addToBucket(state, '', limits.rate, units, now);
  for (const [method, part] of byMethod) {
    const own = limits.methodRates?.get(method);
    if (own !== undefined) addToBucket(state, method, own, part, now);
  }
}

/**
 * Returns the allowance of the limit with the least remaining units, of those that the charge counts for; undefined: it
 * counts for none.
 */
export function allowanceOf(
  state: LimitState,
  limits: KeyLimits,
  { byMethod }: Charge,
  now: number,
  date: UtcDate,
): Allowance | undefined {
  const { rate, methodRates, daily, monthly } = limits;
  let nearest: Allowance | undefined;
  if (rate !== undefined) nearest = tighterRate(nearest, state, '', rate, now);
  for (const method of byMethod.keys()) {
    const own = methodRates?.get(method);
    if (own !== undefined) nearest = tighterRate(nearest, state, method, own, now);
  }
  if (daily !== undefined) nearest = tighter(nearest, daily, daily - state.dayUsed, date.dayEndsInS);
  if (monthly !== undefined) nearest = tighter(nearest, monthly, monthly - state.monthUsed, date.monthEndsInS);
  return nearest;
}

function tighterRate(
  current: Allowance | undefined,
  state: LimitState,
  bucket: string,
  rate: Rate,
  now: number,
): Allowance {
  const missing = missingUnits(state, bucket, rate, now);
  // The tolerance is for rounding errors, as in `waitFor`.
  return tighter(current, rate.burst, rate.burst - missing, Math.ceil(missing / rate.perSecond - 1e-6));
}

function tighter(current: Allowance | undefined, limit: number, available: number, resetS: number): Allowance {
  const remaining = Math.max(0, Math.floor(available + unitTolerance));
  return current !== undefined && current.remaining <= remaining ? current : { limit, remaining, resetS };
}

/** The stored date may be one period ahead, from a gateway with a faster clock. If it is further ahead, it is reset. */
function startNewPeriods(state: LimitState, { day, month, nextDay, nextMonth }: UtcDate): void {
  if (day > state.day || state.day > nextDay) Object.assign(state, { day, dayUsed: 0 });
  if (month > state.month || state.month > nextMonth) Object.assign(state, { month, monthUsed: 0 });
}

/** The sum without the rounding errors of the terms. */
function addUnits(sum: number, units: number): number {
  return Math.max(0, Math.round((sum + units) * 1000) / 1000);
}

/** The units that a bucket lacks now. A changed rate holds from now on for what the bucket lacked at its last change. */
export function missingUnits(state: LimitState, bucket: string, { perSecond }: Rate, now: number): number {
  const last = state.buckets.get(bucket);
  return last === undefined ? 0 : Math.max(0, last.missing - ((now - last.at) * perSecond) / 1000);
}

function waitFor(state: LimitState, bucket: string, rate: Rate, units: number, now: number): number {
  const lacking = missingUnits(state, bucket, rate, now) + Math.min(units, ADMISSION_UNITS) - rate.burst;
  // A tolerance of 0.001 ms for rounding errors.
  return (lacking * 1000) / rate.perSecond - 0.001;
}

function addToBucket(state: LimitState, bucket: string, rate: Rate, units: number, now: number): void {
  setMissing(state, bucket, missingUnits(state, bucket, rate, now) + units, now);
}

export function setMissing({ buckets }: LimitState, bucket: string, missing: number, at: number): void {
  const last = buckets.get(bucket);
  if (last === undefined) buckets.set(bucket, { missing, at });
  else Object.assign(last, { missing, at });
}
