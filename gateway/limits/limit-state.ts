import type { Allowance, Reason } from '../jsonrpc/errors.ts';
import type { KeyLimits, Rate } from '../auth/permissions/key-limits.ts';

/** The request units of one request body. */
export interface Charge {
  /** Units in steps of 0.001. */
  readonly units: number;
  /** Request units by method, only for methods with a rate of their own. */
  readonly byMethod: ReadonlyMap<string, number>;
}

/** The units that a bucket lacked at a time, by clock.now(). More than its burst: it is in debt. */
export interface Bucket {
  missing: number;
  at: number;
}

/**
 * Usage of an account. A charge is admitted if its bucket has one unit, or the charge if that is less, and may put the
 * bucket in debt. So in any time t at most burst + rate × t + one charge passes. Quotas are never exceeded.
 */
export interface LimitState extends Periods {
  /** Buckets by method; the bucket of the key has the name ''. */
  readonly buckets: Map<string, Bucket>;
}

/** Units of a day and of a month. */
export interface Periods {
  day: string;
  dayUsed: number;
  month: string;
  monthUsed: number;
}

export function newLimitState(): LimitState {
  return { buckets: new Map(), day: '', dayUsed: 0, month: '', monthUsed: 0 };
}

export function cloneState({ buckets, ...periods }: LimitState): LimitState {
  return { buckets: new Map([...buckets].map(([method, bucket]) => [method, { ...bucket }])), ...periods };
}

/** Units to add to the sums of an account: to its day and month, and to its buckets by method. */
export interface Deltas extends Periods {
  readonly buckets: Map<string, { readonly units: number; readonly perSecond: number }>;
}

/** @param rates the buckets, by method */
export function newDeltas(rates: ReadonlyMap<string, number> = new Map()): Deltas {
  const buckets = [...rates].map(([method, perSecond]) => [method, { units: 0, perSecond }] as const);
  return { buckets: new Map(buckets), day: '', dayUsed: 0, month: '', monthUsed: 0 };
}

/** Charges to add as a whole, and only if no sum before is above its maximum. */
export interface ConditionalDeltas {
  readonly deltas: Deltas;
  /** Maximum sums by the name of the limit. */
  readonly maxSums: Map<string, { readonly limit: Limit; readonly max: number }>;
}

/** Sums of an account; of buckets, the units that each lacks. */
export interface KnownSums extends Periods {
  readonly missing: ReadonlyMap<string, number>;
}

/** The sums that several processes share, after an addition. */
export interface Sums extends KnownSums {
  /** Whether the conditional deltas are in the sums. */
  readonly isAdded: boolean;
}

/** Units of a charge that a bucket must have. */
export const ADMISSION_UNITS = 1;

/** Tolerance above the rounding errors of sums of units, and below the cheapest charge. */
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
  /** Owner of the limit, if the caller has no key. */
  readonly scope?: 'address' | 'all';
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

/** The time of a charge. */
export interface Moment {
  /** Time by clock.now(). */
  readonly now: number;
  readonly date: UtcDate;
}

/**
 * A rate or a quota. It admits a charge if it has the required units: all units of the charge for a quota, one for a rate.
 */
export interface Limit {
  readonly reason: 'rate-limit' | 'daily-quota' | 'monthly-quota';
  /** Name of the limit, as in `Shortage`. */
  readonly name: string;
  /** The only method that counts; empty: all. */
  readonly method: string;
  /** The quota, or the burst of a rate. */
  readonly size: number;
  /** Units that return in a second; 0: none before the period ends. */
  readonly perSecond: number;
  readonly maxRequired: number;
  /** Tolerance for rounding errors. */
  readonly tolerance: number;
}

const limitsByKey = new WeakMap<KeyLimits, readonly Limit[]>();

export function limitsOf(key: KeyLimits): readonly Limit[] {
  let limits = limitsByKey.get(key);
  if (limits === undefined) limitsByKey.set(key, (limits = newLimits(key)));
  return limits;
}

function newLimits({ rate, methodRates = new Map<string, Rate>(), daily, monthly }: KeyLimits): Limit[] {
  const rates = [...(rate === undefined ? [] : [['', rate] as const]), ...methodRates];
  const limits = rates.map(([method, { burst: size, perSecond }]): Limit => {
    const name = rateName(method);
    const tolerance = unitTolerance * Math.max(1, perSecond);
    return { reason: 'rate-limit', name, method, size, perSecond, maxRequired: ADMISSION_UNITS, tolerance };
  });
  if (daily !== undefined) limits.push(quota('daily-quota', 'daily', daily));
  if (monthly !== undefined) limits.push(quota('monthly-quota', 'monthly', monthly));
  return limits;
}

/** The name of the limit of a bucket. */
export function rateName(method: string): string {
  return method === '' ? 'rate' : `methodRates of ${method}`;
}

function quota(reason: Limit['reason'], name: string, size: number): Limit {
  return { reason, name, method: '', size, perSecond: 0, maxRequired: Infinity, tolerance: unitTolerance };
}

/** Units of a charge that count for a limit. */
export function unitsFor({ method }: Limit, { units, byMethod }: Charge): number {
  return method === '' ? units : (byMethod.get(method) ?? 0);
}

/** Units used; of a rate, those that have not returned. More than its burst: it is in debt. */
export function usedOf(state: LimitState, limit: Limit, now: number): number {
  if (limit.reason === 'rate-limit') return missingUnits(state, limit, now);
  return limit.reason === 'daily-quota' ? state.dayUsed : state.monthUsed;
}

/** Units of deltas that count for a limit. */
export function deltaOf(deltas: Deltas, { reason, method }: Limit): number {
  if (reason === 'rate-limit') return deltas.buckets.get(method)?.units ?? 0;
  return reason === 'daily-quota' ? deltas.dayUsed : deltas.monthUsed;
}

/**
 * Returns the limit that rejects a charge, if any: of several, the one with the longest wait. Does not charge: it only resets
 * periods that have ended.
 */
export function shortageOf(state: LimitState, key: KeyLimits, charge: Charge, moment: Moment): Shortage | undefined {
  const { now, date } = moment;
  startNewPeriods(state, date);
  let longestS = 0;
  let shortage: Shortage | undefined;
  for (const limit of limitsOf(key)) {
    const units = unitsFor(limit, charge);
    const used = usedOf(state, limit, now);
    const lacking = lackingOf(limit, units, used);
    const { reason, name, size, perSecond } = limit;
    const quotaEndsInS = units > size ? Infinity : endsInS(limit, date);
    const waitS = reason === 'rate-limit' ? lacking / perSecond : quotaEndsInS;
    if (units === 0 || lacking <= 0 || waitS <= longestS) continue;
    longestS = waitS;
    shortage = {
      ...{ reason, limit: name, units, available: Math.max(0, size - used) },
      waitS: waitS === Infinity ? undefined : Math.max(1, Math.ceil(waitS)),
      allowance: allowanceAt(limit, used, date),
    };
  }
  return shortage;
}

/** The units that a limit lacks for a charge; negative: those that it has left then. */
function lackingOf({ maxRequired, size, tolerance }: Limit, units: number, used: number): number {
  return used + Math.min(units, maxRequired) - size - tolerance;
}

/** How much of a quota is used. */
export interface QuotaUse {
  readonly period: 'day' | 'month';
  readonly size: number;
  readonly used: number;
  readonly endsInS: number;
}

/** The quotas of an account. Resets periods that have ended. */
export function quotasOf(state: LimitState, key: KeyLimits, date: UtcDate): QuotaUse[] {
  startNewPeriods(state, date);
  return limitsOf(key).flatMap((limit): QuotaUse[] => {
    if (limit.reason === 'rate-limit') return [];
    const period = limit.reason === 'daily-quota' ? 'day' : 'month';
    return [{ period, size: limit.size, used: usedOf(state, limit, 0), endsInS: endsInS(limit, date) }];
  });
}

/** The shortage if what was used is not known. The wait is the minimum. */
export function briefShortage(
  reason: Reason,
  limit: string,
  { units }: Charge,
  allowance: Allowance | undefined,
): Shortage {
  return { reason, limit, units, available: 0, waitS: 1, allowance };
}

/** Takes a charge without checking the limits. */
export function take(state: LimitState, key: KeyLimits, charge: Charge, moment: Moment): void {
  const deltas = newDeltas();
  addCharge(deltas, key, charge, moment.date);
  addDeltas(state, deltas, 1, moment);
}

/** Adds the units of a charge to deltas. */
export function addCharge(deltas: Deltas, key: KeyLimits, charge: Charge, date: UtcDate): void {
  addUnits(deltas, charge.units, charge.units, date);
  for (const limit of limitsOf(key)) {
    const { reason, method, perSecond } = limit;
    const units = unitsFor(limit, charge);
    if (units === 0 || reason !== 'rate-limit') continue;
    const before = deltas.buckets.get(method)?.units ?? 0;
    deltas.buckets.set(method, { units: rounded(before + units), perSecond });
  }
}

/** Adds a charge to conditional deltas. The greatest sum before leaves what the limits require for all charges of the deltas. */
export function addConditionally(
  { deltas, maxSums }: ConditionalDeltas,
  key: KeyLimits,
  charge: Charge,
  date: UtcDate,
): void {
  for (const limit of limitsOf(key)) {
    const units = unitsFor(limit, charge);
    if (units === 0) continue;
    const max = -lackingOf(limit, units, deltaOf(deltas, limit));
    maxSums.set(limit.name, { limit, max: Math.min(max, maxSums.get(limit.name)?.max ?? Infinity) });
  }
  addCharge(deltas, key, charge, date);
}

export function sumOf(one: Deltas, other: Deltas, date: UtcDate): Deltas {
  const { buckets, ...periods } = one;
  const sum: Deltas = { buckets: new Map(buckets), ...periods };
  addUnits(sum, ...unitsIn(other, date), date);
  for (const [method, { units, perSecond }] of other.buckets)
    sum.buckets.set(method, { units: rounded((buckets.get(method)?.units ?? 0) + units), perSecond });
  return sum;
}

/** Adds deltas to the sums of a state, `factor` times. */
export function addDeltas(state: LimitState, deltas: Deltas, factor: number, { now, date }: Moment): void {
  const [dayUnits, monthUnits] = unitsIn(deltas, date);
  addUnits(state, factor * dayUnits, factor * monthUnits, date);
  for (const [method, { units, perSecond }] of deltas.buckets) {
    const missing = missingUnits(state, { method, perSecond }, now) + factor * units;
    setMissing(state, method, Math.max(0, missing), now);
  }
}

/** Units of a day and a month that have not ended. */
function unitsIn(periods: Periods, date: UtcDate): [number, number] {
  startNewPeriods(periods, date);
  return [periods.dayUsed, periods.monthUsed];
}

function addUnits(periods: Periods, dayUnits: number, monthUnits: number, date: UtcDate): void {
  startNewPeriods(periods, date);
  periods.dayUsed = Math.max(0, rounded(periods.dayUsed + dayUnits));
  periods.monthUsed = Math.max(0, rounded(periods.monthUsed + monthUnits));
}

/** The sums of a state. @param deltas have the buckets */
export function sumsOf(state: LimitState, { buckets }: Deltas, now: number): KnownSums {
  const { day, dayUsed, month, monthUsed } = state;
  const missing = [...buckets].map(
    ([method, { perSecond }]) => [method, missingUnits(state, { method, perSecond }, now)] as const,
  );
  return { day, dayUsed, month, monthUsed, missing: new Map(missing) };
}

/** Replaces the sums of a state by those that several processes share. Buckets that they lack stay. */
export function setSums(state: LimitState, sums: KnownSums, now: number): void {
  const { missing, day, dayUsed, month, monthUsed } = sums;
  Object.assign(state, { day, dayUsed, month, monthUsed });
  for (const [method, units] of missing) setMissing(state, method, units, now);
}

/** The allowance of the limit with the fewest remaining units that the charge counts for; undefined: it counts for none. */
export function allowanceOf(
  state: LimitState,
  key: KeyLimits,
  charge: Charge,
  { now, date }: Moment,
): Allowance | undefined {
  let nearest: Allowance | undefined;
  for (const limit of limitsOf(key)) {
    if (unitsFor(limit, charge) === 0) continue;
    const allowance = allowanceAt(limit, usedOf(state, limit, now), date);
    if (nearest === undefined || allowance.remaining < nearest.remaining) nearest = allowance;
  }
  return nearest;
}

function allowanceAt(limit: Limit, used: number, date: UtcDate): Allowance {
  const { reason, size, perSecond } = limit;
  const remaining = Math.max(0, Math.floor(size - used + unitTolerance));
  // The tolerance is for rounding errors.
  const resetS = reason === 'rate-limit' ? Math.ceil(used / perSecond - 1e-6) : endsInS(limit, date);
  return { limit: size, remaining, resetS };
}

function endsInS({ reason }: Limit, { dayEndsInS, monthEndsInS }: UtcDate): number {
  return reason === 'daily-quota' ? dayEndsInS : monthEndsInS;
}

/** The stored date may be one period ahead, from a gateway with a faster clock. If it is further ahead, it is reset. */
function startNewPeriods(state: Periods, { day, month, nextDay, nextMonth }: UtcDate): void {
  if (day > state.day || state.day > nextDay) Object.assign(state, { day, dayUsed: 0 });
  if (month > state.month || state.month > nextMonth) Object.assign(state, { month, monthUsed: 0 });
}

/** A sum without the rounding errors of its terms. */
function rounded(units: number): number {
  return Math.round(units * 1000) / 1000;
}

/** The units that a rate lacks now. A changed rate holds from now on for what it lacked at its last change. */
export function missingUnits(
  state: LimitState,
  { method, perSecond }: Pick<Limit, 'method' | 'perSecond'>,
  now: number,
): number {
  const last = state.buckets.get(method);
  return last === undefined ? 0 : Math.max(0, last.missing - (Math.max(0, now - last.at) * perSecond) / 1000);
}

/** The units that the rate of a key lacks now; 0: it has none. */
export function missingOf(state: LimitState, key: KeyLimits, now: number): number {
  const rate = limitsOf(key).find(({ reason, method }) => reason === 'rate-limit' && method === '');
  return rate === undefined ? 0 : missingUnits(state, rate, now);
}

/** Time until the rate of a key has the unit that a charge requires, in ms; 0: it has it, or there is no rate. */
export function rateWaitMs(state: LimitState, key: KeyLimits, now: number): number {
  const rate = limitsOf(key).find(({ reason, method }) => reason === 'rate-limit' && method === '');
  if (rate === undefined) return 0;
  return (Math.max(0, lackingOf(rate, ADMISSION_UNITS, usedOf(state, rate, now))) / rate.perSecond) * 1_000;
}

/** How much of the nearest limit is used: 1 is all. */
export function usedPartOf(state: LimitState, key: KeyLimits, now: number): number {
  return Math.max(0, ...limitsOf(key).map((limit) => usedOf(state, limit, now) / limit.size));
}

export function setMissing({ buckets }: LimitState, method: string, missing: number, at: number): void {
  const last = buckets.get(method);
  if (last === undefined) buckets.set(method, { missing, at });
  else Object.assign(last, { missing, at });
}
