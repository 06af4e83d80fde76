import type { Reason } from '../jsonrpc/errors.ts';
import type { KeyLimits } from '../keys/key-access.ts';
import type { Rate } from '../keys/key-rules.ts';

/** What one body asks of a key's limits: the weights of its calls. */
export interface Charge {
  readonly weight: number;
  /** Of methods that have a limit of their own. */
  readonly byMethod: ReadonlyMap<string, number>;
}

/**
 * What an account has used. A bucket is one number: when it will be full again, on the clock of performance.now(); what
 * is missing until then has been used (the generic cell rate algorithm: in any time t no more than burst + rate × t).
 */
export interface Tally {
  /** By method; the whole key's under ''. */
  readonly fullAt: Map<string, number>;
  day: string;
  dayUsed: number;
  month: string;
  monthUsed: number;
}

export function emptyTally(): Tally {
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
  tally: Tally,
  limits: KeyLimits,
  { weight, byMethod }: Charge,
  now: number,
  date: UtcDate,
): Shortage | undefined {
  turnPage(tally, date);
  const { daily, monthly, rate, methodRates } = limits;
  if (daily !== undefined && tally.dayUsed + weight > daily) {
    return { reason: 'daily-quota', waitS: weight > daily ? undefined : date.dayEndsInS };
  }
  if (monthly !== undefined && tally.monthUsed + weight > monthly) {
    return { reason: 'monthly-quota', waitS: weight > monthly ? undefined : date.monthEndsInS };
  }
  let waitMs = rate === undefined ? 0 : waitFor(tally, '', rate, weight, now);
  for (const [method, part] of byMethod) {
    const own = methodRates?.get(method);
    if (own !== undefined) waitMs = Math.max(waitMs, waitFor(tally, method, own, part, now));
  }
  if (waitMs <= 0) return undefined;
  return { reason: 'rate-limit', waitS: waitMs === Infinity ? undefined : Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** Takes a charge, whether there is enough or not. */
export function take(tally: Tally, limits: KeyLimits, { weight, byMethod }: Charge, now: number, date: UtcDate): void {
  turnPage(tally, date);
  tally.dayUsed += weight;
  tally.monthUsed += weight;
  if (limits.rate !== undefined) pour(tally, '', limits.rate, weight, now);
  for (const [method, part] of byMethod) {
    const own = limits.methodRates?.get(method);
    if (own !== undefined) pour(tally, method, own, part, now);
  }
}

/** That of the limits which is nearest to its end, methods' own left out. */
export function allowanceOf(tally: Tally, limits: KeyLimits, now: number, date: UtcDate): Allowance | undefined {
  const { rate, daily, monthly } = limits;
  let nearest: Allowance | undefined;
  if (rate !== undefined) {
    // Less what adding fractions loses, as in `waitFor`.
    const missingMs = fullAtOf(tally, '', rate, now) - now;
    const left = rate.burst - (missingMs * rate.perSecond) / 1000;
    nearest = nearer(nearest, rate.burst, left, Math.ceil((missingMs - 0.001) / 1000));
  }
  if (daily !== undefined) nearest = nearer(nearest, daily, daily - tally.dayUsed, date.dayEndsInS);
  if (monthly !== undefined) nearest = nearer(nearest, monthly, monthly - tally.monthUsed, date.monthEndsInS);
  return nearest;
}

function nearer(so: Allowance | undefined, limit: number, left: number, resetS: number): Allowance {
  const remaining = Math.max(0, Math.floor(left + 1e-6));
  return so !== undefined && so.remaining <= remaining ? so : { limit, remaining, resetS };
}

/** Dates go forward, since another gateway's clock may be ahead of ours; by more than one it was wrong. */
function turnPage(tally: Tally, { day, month, nextDay, nextMonth }: UtcDate): void {
  if (day > tally.day || tally.day > nextDay) Object.assign(tally, { day, dayUsed: 0 });
  if (month > tally.month || tally.month > nextMonth) Object.assign(tally, { month, monthUsed: 0 });
}

/** When a bucket is full. One that would take longer than an empty one is from before its limit was changed: it is empty. */
function fullAtOf(tally: Tally, bucket: string, { perSecond, burst }: Rate, now: number): number {
  const fullAt = tally.fullAt.get(bucket) ?? now;
  const latest = now + (burst * 1000) / perSecond;
  if (fullAt > latest) tally.fullAt.set(bucket, latest);
  return Math.min(Math.max(now, fullAt), latest);
}

function waitFor(tally: Tally, bucket: string, rate: Rate, weight: number, now: number): number {
  const { perSecond, burst } = rate;
  if (weight > burst) return Infinity;
  const fullAt = fullAtOf(tally, bucket, rate, now) + (weight * 1000) / perSecond;
  // A thousandth of a millisecond: what adding fractions loses.
  return fullAt - now - (burst * 1000) / perSecond - 0.001;
}

function pour(tally: Tally, bucket: string, rate: Rate, weight: number, now: number): void {
  const { perSecond, burst } = rate;
  const fullAt = fullAtOf(tally, bucket, rate, now) + (weight * 1000) / perSecond;
  // Where there was not enough, it is not owed for ever.
  tally.fullAt.set(bucket, Math.min(fullAt, now + (burst * 1000) / perSecond));
}
