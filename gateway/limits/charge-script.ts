import type { RedisClient } from '../redis/client.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import type { ChargeRequest, ChargeResult } from './charge-store.ts';
import {
  limitsOf,
  missingUnits,
  newLimitState,
  setMissing,
  unitTolerance,
  type Charge,
  type Limit,
  type LimitState,
} from './limit-state.ts';

/**
 * An account is one hash, `gatehouse:limit:<key id>`, with the fields day, dayUsed, month and monthUsed. Each bucket has
 * the Unix time in ms at which it is full, and the units that were missing at its last change: `fullAt` and `missing` for
 * the key, `fullAt:<method>` and `missing:<method>` for a method. `since` identifies the hash in one run of Redis, `run`. It
 * is one Redis key, so a cluster needs no hash tag. DEL resets the account.
 */
const LIMIT_PREFIX = 'gatehouse:limit:';
/** Longer than a month, because the count of the month must not expire. */
const QUOTA_TTL_MS = 32 * 86_400_000;
/** The maximum expiry, 30 years, for buckets that fill very slowly. */
const maxTtlMs = 1e12;

/**
 * The law of `limit-state.ts` for several charges at once, on Redis' clock, so that all gateways share one account. A quota
 * and a rate are each a `limit` with `used` units of `size`; those of a rate return, one in `msPerUnit`.
 *
 * rate-limiter-flexible is not used: it counts in fixed windows, so twice the limit can pass within a second, and it
 * charges one call at a time: two round trips per call with a rate and a quota.
 *
 * A rate never lacks more units than at its last change. If `fullAt` says so, its limit has changed or Redis' clock was
 * set back.
 *
 * A lease reserves units in advance for `leaseMs`. Units used at the end of a lease could coincide with units that
 * returned meanwhile. So a lease is charged as of its end, and the rate stays that much below full: in any time t at
 * most burst + rate × t + one charge passes, with or without leases. A lease is granted only if four times its units are
 * available.
 *
 * A Redis that restarts or fails over may have lost data, or some of it. On a new connection, a gateway reports what it has
 * counted, `counted`. If that was in another run of Redis, `restored:<date>` has how much of that count Redis had kept, or was
 * reported by any gateway: the rest is added.
 *
 * Argument and response are JSON objects, of `chargeAtRedis`: absent sizes are unlimited.
 */
const script = `
local args = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local account = {}
local stored = redis.call('HGETALL', KEYS[1])
for at = 1, #stored, 2 do account[stored[at]] = stored[at + 1] end
local function number(field) return tonumber(account[field] or '') end

local changes = {}
local isChanged = args.debt ~= 0
local counted = args.counted
local since = account.since or time[1] .. time[2]
local isNewRun = false
if counted then
  -- An ACL may forbid INFO. Then the greater count is used.
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
  if run and run ~= account.run then
    isNewRun = true
    since = time[1] .. time[2]
    changes.run = run
  end
end

local limits = {}
for _, quota in ipairs(args.quotas) do
  local usedField = quota.period .. 'Used'
  local date = account[quota.period]
  quota.used = 0
  if date and date >= quota.date and date <= quota.nextDate then
    quota.date = date
    quota.used = number(usedField) or 0
  end
  if counted then
    local units = counted[quota.period]
    local field = 'restored:' .. quota.date
    local restored = number(field) or 0
    if isNewRun then
      restored = quota.used
      changes[field] = restored
    end
    if since == counted.since then
      quota.used = math.max(quota.used, units)
    elseif units > restored then
      quota.used = quota.used + units - restored
      changes[field] = units
    end
    isChanged = isChanged or isNewRun or units > 0
  end
  quota.used = math.max(0, quota.used + args.debt)
  quota.size = quota.size or math.huge
  limits[#limits + 1] = quota
end
for _, rate in ipairs(args.rates) do
  local suffix = rate.method and ':' .. rate.method or ''
  rate.fullAtField, rate.missingField = 'fullAt' .. suffix, 'missing' .. suffix
  local fullAt = number(rate.fullAtField) or 0
  local latest = now + (number(rate.missingField) or rate.size) * rate.msPerUnit
  if fullAt > latest + 1 then
    fullAt = latest
    isChanged = true
  end
  rate.used = math.max((fullAt - now) / rate.msPerUnit, 0) + rate.debt
  rate.used = math.max(rate.used, rate.counted)
  limits[#limits + 1] = rate
end

local function unitsFor(limit, charge)
  return limit.method and (charge.byMethod[limit.method] or 0) or charge.units
end
local taken = {}
for index, charge in ipairs(args.charges) do
  local isTaken = true
  for _, limit in ipairs(limits) do
    local units = unitsFor(limit, charge)
    local required = math.min(units, limit.maxRequired or units)
    if units > 0 and limit.used + required > limit.size + limit.tolerance then isTaken = false end
  end
  for _, limit in ipairs(isTaken and limits or {}) do limit.used = limit.used + unitsFor(limit, charge) end
  isChanged = isChanged or isTaken
  taken[index] = isTaken
end

local lease = args.lease
local function usedAtEnd(limit)
  return math.max(limit.used, limit.msPerUnit and args.leaseMs / limit.msPerUnit or 0)
end
for _, limit in ipairs(limits) do
  if usedAtEnd(limit) + 4 * args.lease > limit.size then lease = 0 end
end
for _, limit in ipairs(lease > 0 and limits or {}) do limit.used = usedAtEnd(limit) + lease end

local response = {taken = taken, lease = lease, since = since, missing = {}}
changes.since = since
for _, quota in ipairs(args.quotas) do
  local used = string.format('%.16g', math.floor(quota.used * 1000 + 0.5) / 1000)
  changes[quota.period], changes[quota.period .. 'Used'] = quota.date, used
  response[quota.period], response[quota.period .. 'Used'] = quota.date, used
end
local ttl = args.ttlMs
for _, rate in ipairs(args.rates) do
  local missing = string.format('%.9f', rate.used)
  local fullInMs = rate.used * rate.msPerUnit
  changes[rate.fullAtField], changes[rate.missingField] = string.format('%.3f', now + fullInMs), missing
  response.missing[rate.method or ''] = missing
  ttl = math.max(ttl, math.min(fullInMs, args.maxTtlMs))
end
if isChanged or lease > 0 then
  local fields = {}
  for field, value in pairs(changes) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  ttl = math.max(ttl, redis.call('PTTL', KEYS[1]))
  redis.call('HSET', KEYS[1], unpack(fields))
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl))
end
return cjson.encode(response)`;

/** Numbers with a fraction are texts, because cjson rounds numbers to 14 digits. */
interface ScriptResponse {
  /** Of each charge. An empty list is an object in Lua. */
  readonly taken: Readonly<Record<number, boolean>>;
  readonly lease: number;
  readonly day: string;
  readonly dayUsed: string;
  readonly month: string;
  readonly monthUsed: string;
  readonly since: string;
  /** Used units of each rate by method; that of the key has the name ''. */
  readonly missing: Readonly<Record<string, string>>;
}

/** A connection with the command `gatehouseCharge`. */
export type ChargingRedis = RedisClient & {
  gatehouseCharge(key: string, argument: string): Promise<string>;
};

/** After this, the connection is a `ChargingRedis`. */
export function addChargeCommand(redis: RedisClient): asserts redis is ChargingRedis {
  redis.defineCommand('gatehouseCharge', { numberOfKeys: 1, lua: script });
}

/** Charges one account in one round trip, and updates `state` from the response. */
export async function chargeAtRedis(
  redis: ChargingRedis,
  key: KeyLimits,
  charges: readonly Charge[],
  { state, hasQuota, report, leaseUnits, leaseMs, date, sentAt }: ChargeRequest,
): Promise<ChargeResult> {
  const { debtUnits, isComplete, since, dayUsed, monthUsed } = report;
  const rates = limitsOf(key).filter(
    ({ reason, method }) =>
      reason === 'rate-limit' && (method === '' || charges.some(({ byMethod }) => byMethod.has(method))),
  );
  const argument = {
    charges: charges.map(({ units, byMethod }) => ({ units, byMethod: Object.fromEntries(byMethod) })),
    quotas: [
      { period: 'day', date: date.day, nextDate: date.nextDay, size: key.daily, tolerance: unitTolerance },
      { period: 'month', date: date.month, nextDate: date.nextMonth, size: key.monthly, tolerance: unitTolerance },
    ],
    rates: rates.map((limit) => {
      const { method, perSecond, size, maxRequired, tolerance } = limit;
      const used = missingUnits(state, limit, sentAt);
      const ofMethod = method === '' ? {} : { method };
      // What has returned since it was charged is no debt.
      const debt = method === '' ? Math.min(debtUnits, used) : 0;
      return {
        ...{ ...ofMethod, size, maxRequired, tolerance, msPerUnit: 1000 / perSecond },
        ...{ debt, counted: isComplete ? used : 0 },
      };
    }),
    debt: debtUnits,
    ...(since !== '' && { counted: { day: dayUsed, month: monthUsed, since } }),
    ...{ lease: leaseUnits, leaseMs, ttlMs: hasQuota ? QUOTA_TTL_MS : ttlMs(limitsOf(key)), maxTtlMs },
  };
  const text = await redis.gatehouseCharge(LIMIT_PREFIX + key.account, JSON.stringify(argument));
  const { taken, lease, missing, ...counted } = JSON.parse(text) as ScriptResponse;
  const { day, month } = counted;
  Object.assign(state, { day, dayUsed: Number(counted.dayUsed), month, monthUsed: Number(counted.monthUsed) });
  for (const { method } of rates) setMissing(state, method, Number(missing[method]), sentAt);
  return { taken: charges.map((_, at) => taken[at] === true), leasedUnits: lease, since: counted.since };
}

/** The stored periods of an account, without buckets. @throws the error of Redis */
export async function readPeriods(redis: RedisClient, account: string): Promise<LimitState> {
  const { day = '', dayUsed = '0', month = '', monthUsed = '0' } = await redis.hgetall(LIMIT_PREFIX + account);
  return { ...newLimitState(), day, dayUsed: Number(dayUsed), month, monthUsed: Number(monthUsed) };
}

/** Rates may expire once they are full; the script adds the time of a debt. */
function ttlMs(limits: readonly Limit[]): number {
  const fillMs = limits.map(({ size, perSecond }) => (perSecond === 0 ? 0 : (size * 1000) / perSecond));
  return Math.ceil(Math.min(Math.max(0, ...fillMs) + 1_000, maxTtlMs));
}
