import { clock } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import type { RedisClient } from '../redis/client.ts';
import { isRedisError, redisErrorCode, RedisLink, type RedisLinkOptions } from '../redis/link.ts';
import { parseRedisUrl } from '../redis/url.ts';
import { storeUnreachable } from '../store/store-error.ts';
import { GatewaySlots } from './gateway-slots.ts';
import { rateName, type Sums } from './limit-state.ts';
import type { Addition, SharedSums } from './shared-sums.ts';

/**
 * An account is one hash, `gatehouse:limit:<account>`, with the fields day, dayUsed, month and monthUsed. Each bucket has the
 * units that it lacked at its last change, and when that was in ms since 1970: `missing` and `missingAt` for the key,
 * `missing:<method>` and `missingAt:<method>` for a method. It is one Redis key, so a cluster needs no hash tag. DEL resets the
 * account.
 */
const PREFIX = 'gatehouse:limit:';
/** Time to live, longer than a month, because the count of the month must not expire. */
const QUOTA_TTL_MS = 32 * 86_400_000;
/** Time to live without a quota: the hash is needed until its buckets are full. */
const RATE_TTL_MS = 60_000;
/** Interval of the warning while Redis rejects charges. */
const WARNING_INTERVAL_MS = 60_000;

/**
 * Adds to the sums of one account on Redis' clock, and returns whether the conditional units are in them, and the sums. Arguments:
 * time to live in ms; name, date and next date of the day and of the month; suffix of the fields and units per second of each
 * bucket; after each of them, its units, least sum before, conditional units, and the greatest sum without these. The units of a
 * bucket return with time. Without units and a greater least sum, nothing is written.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local account, changes, sums, isChanged, isAdded = {}, {}, {}, false, true
local stored = redis.call('HGETALL', KEYS[1])
for at = 1, #stored, 2 do account[stored[at]] = stored[at + 1] end
local ttl = math.max(tonumber(ARGV[1]), redis.call('PTTL', KEYS[1]))
local function number(text)
  local found = tonumber(text or '') or 0
  return math.abs(found) < 1e300 and found or 0
end
local function rounded(value) return math.floor(value * 1000 + 0.5) / 1000 end
local function add(before, least, at, sum)
  sum.value = math.max(before, tonumber(least)) + tonumber(ARGV[at])
  if sum.date then sum.value = rounded(sum.value) end
  isChanged = isChanged or sum.value > before
  sum.conditional = tonumber(ARGV[at + 2])
  isAdded = isAdded and sum.value <= tonumber(ARGV[at + 3])
  sums[#sums + 1] = sum
end
for at = 2, 9, 7 do
  local period, date, nextDate, least = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 4]
  local last, before = account[period], 0
  if last and last >= date and last <= nextDate then
    before = number(account[period .. 'Used'])
    if last ~= date then date, least = last, 0 end
  end
  add(before, least, at + 3, { period = period, date = date })
end
for at = 16, #ARGV, 6 do
  local suffix, perSecond = ARGV[at], tonumber(ARGV[at + 1])
  local elapsed = math.max(0, now - number(account['missingAt' .. suffix]))
  local before = math.max(0, number(account['missing' .. suffix]) - elapsed * perSecond / 1000)
  add(before, ARGV[at + 3], at + 2, { suffix = suffix, perSecond = perSecond })
end
local texts = { isAdded and 1 or 0 }
local function set(field, text, isReturned)
  changes[#changes + 1] = field
  changes[#changes + 1] = text
  if isReturned then texts[#texts + 1] = text end
end
for _, sum in ipairs(sums) do
  local value = sum.value
  if isAdded and sum.conditional > 0 then value, isChanged = value + sum.conditional, true end
  if sum.date then
    set(sum.period, sum.date, true)
    set(sum.period .. 'Used', string.format('%.16g', rounded(value)), true)
  else
    ttl = math.max(ttl, math.min(value / sum.perSecond * 1000, 1e12))
    set('missing' .. sum.suffix, string.format('%.17g', value), true)
    set('missingAt' .. sum.suffix, string.format('%.3f', now), false)
  end
end
if isChanged then
  redis.call('HSET', KEYS[1], unpack(changes))
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl))
end
return texts`;

type ScriptedRedis = RedisClient & {
  gatehouseLimits(key: string, ...args: (string | number)[]): Promise<(string | number)[]>;
};

/** The sums of all gateways. */
export class RedisSums implements SharedSums {
  readonly kind = 'redis';
  readonly link: RedisLink;
  readonly slots: GatewaySlots;
  readonly #redis: ScriptedRedis;
  readonly #log: Log;
  #rejectionLoggedAt = -Infinity;

  constructor(link: RedisLink, log: Log) {
    link.redis.defineCommand('gatehouseLimits', { numberOfKeys: 1, lua: script });
    this.link = link;
    this.slots = new GatewaySlots(link, (error) => this.#failed(error));
    this.#redis = link.redis as ScriptedRedis;
    this.#log = log;
  }

  get isUp(): boolean {
    return this.link.isUp;
  }

  get connection(): number {
    return this.link.connection;
  }

  async add(addition: Addition): Promise<Sums> {
    try {
      return await this.#add(addition);
    } catch (thrown) {
      throw storeUnreachable(this.#failed(thrown));
    }
  }

  async #add({ account, deltas, conditional, hasQuota, least, date }: Addition): Promise<Sums> {
    const more = conditional?.deltas;
    const maxOf = (limit: string): number => conditional?.maxSums.get(limit)?.max ?? Number.MAX_VALUE;
    const leastDay = least?.day === date.day ? least.dayUsed : 0;
    const leastMonth = least?.month === date.month ? least.monthUsed : 0;
    const [isAdded, day, dayUsed, month, monthUsed, ...missing] = (await this.#redis.gatehouseLimits(
      PREFIX + account,
      hasQuota ? QUOTA_TTL_MS : RATE_TTL_MS,
      ...['day', date.day, date.nextDay, deltas.dayUsed, leastDay, more?.dayUsed ?? 0, maxOf('daily')],
      ...['month', date.month, date.nextMonth, deltas.monthUsed, leastMonth, more?.monthUsed ?? 0, maxOf('monthly')],
      ...[...deltas.buckets].flatMap(([method, { perSecond, units }]) => [
        ...[method === '' ? '' : `:${method}`, perSecond, units],
        least?.missing.get(method) ?? 0,
        ...[more?.buckets.get(method)?.units ?? 0, maxOf(rateName(method))],
      ]),
    )) as [number, string, string, string, string, ...string[]];
    return {
      ...{ day, dayUsed: Number(dayUsed), month, monthUsed: Number(monthUsed), isAdded: isAdded === 1 },
      missing: new Map([...deltas.buckets.keys()].map((method, index) => [method, Number(missing[index])])),
    };
  }

  /** Logs each minute that Redis rejects the command (NOPERM, OOM). The link logs that Redis is unavailable. @returns the error */
  #failed(thrown: unknown): unknown {
    const error = this.link.reportFailure(thrown);
    if (isRedisError(error) && clock.now() - this.#rejectionLoggedAt >= WARNING_INTERVAL_MS) {
      this.#rejectionLoggedAt = clock.now();
      this.#log.warn({ error: redisErrorCode(error) }, 'Redis rejects charges: limits are counted in memory');
    }
    return error;
  }
}

/**
 * Opens the sums in Redis with a connection of their own, so that their timeout does not apply to key lookups.
 * @throws SettingsError for a malformed URL
 */
export function openRedisSums(
  url: string,
  commandTimeoutMs: number,
  log: Log,
  events: Pick<RedisLinkOptions, 'prepare' | 'onChange'>,
): RedisSums {
  const link = new RedisLink({ purpose: 'limits', address: parseRedisUrl(url), log, commandTimeoutMs, ...events });
  return new RedisSums(link, log);
}
