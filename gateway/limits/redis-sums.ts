import { clock } from '../clock/clock.ts';
import type { RedisClient } from '../redis/client.ts';
import type { RedisLink } from '../redis/link.ts';
import { missingUnits, type Sums } from './limit-state.ts';
import type { Addition, SharedSums } from './shared-sums.ts';

/**
 * An account is one hash, `gatehouse:limit:<account>`, with the fields day, dayUsed, month and monthUsed. Each bucket has the
 * units that it lacked at its last change, and when that was in ms since 1970: `missing` and `missingAt` for the key,
 * `missing:<method>` and `missingAt:<method>` for a method. It is one Redis key, so a cluster needs no hash tag. DEL resets the
 * account.
 */
const PREFIX = 'gatehouse:limit:';
/** Longer than a month, because the count of the month must not expire. */
const QUOTA_TTL_MS = 32 * 86_400_000;
/** Without a quota, the hash is needed until its buckets are full. */
const RATE_TTL_MS = 60_000;

/**
 * Adds to the sums of one account on Redis' clock, and returns them. Arguments: time to live in ms, units; name, date, next date and least
 * sum before of the day and of the month; suffix of the fields, units per second, units and least sum before of each bucket.
 * The units of a bucket return with time. Without units and a greater least sum, nothing is written.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local account, changes, sums, isChanged = {}, {}, {}, false
local stored = redis.call('HGETALL', KEYS[1])
for at = 1, #stored, 2 do account[stored[at]] = stored[at + 1] end
local ttl = math.max(tonumber(ARGV[1]), redis.call('PTTL', KEYS[1]))
local function number(text) return tonumber(text or '') or 0 end
local function set(field, text)
  changes[#changes + 1] = field
  changes[#changes + 1] = text
  sums[#sums + 1] = text
end
local function sumOf(before, units, least)
  local sum = math.max(0, math.max(before, number(least)) + number(units))
  isChanged = isChanged or number(units) ~= 0 or sum > before
  return sum
end
for at = 3, 10, 4 do
  local period, date, nextDate, least = unpack(ARGV, at, at + 3)
  local last, before = account[period], 0
  if last and last >= date and last <= nextDate then
    before = number(account[period .. 'Used'])
    if last ~= date then date, least = last, 0 end
  end
  set(period, date)
  set(period .. 'Used', string.format('%.16g', math.floor(sumOf(before, ARGV[2], least) * 1000 + 0.5) / 1000))
end
for at = 11, #ARGV, 4 do
  local suffix, perSecond, units, least = unpack(ARGV, at, at + 3)
  local elapsed = math.max(0, now - number(account['missingAt' .. suffix]))
  local before = math.max(0, number(account['missing' .. suffix]) - elapsed * perSecond / 1000)
  local sum = sumOf(before, units, least)
  ttl = math.max(ttl, math.min(sum / perSecond * 1000, 1e12))
  set('missing' .. suffix, string.format('%.17g', sum))
  changes[#changes + 1] = 'missingAt' .. suffix
  changes[#changes + 1] = string.format('%.3f', now)
end
if isChanged then
  redis.call('HSET', KEYS[1], unpack(changes))
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl))
end
return sums`;

type ScriptedRedis = RedisClient & {
  gatehouseLimits(key: string, ...args: (string | number)[]): Promise<string[]>;
};

/** The sums of all gateways. */
export class RedisSums implements SharedSums {
  readonly kind = 'redis';
  readonly #link: RedisLink;
  readonly #redis: ScriptedRedis;

  /** @param link closed by `close` */
  constructor(link: RedisLink) {
    link.redis.defineCommand('gatehouseLimits', { numberOfKeys: 1, lua: script });
    this.#link = link;
    this.#redis = link.redis as ScriptedRedis;
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  get connection(): number {
    return this.#link.connection;
  }

  async add({ account, deltas, hasQuota, least, date }: Addition): Promise<Sums> {
    const { units, buckets } = deltas;
    const leastDay = least?.day === date.day ? least.dayUsed : 0;
    const leastMonth = least?.month === date.month ? least.monthUsed : 0;
    const [day, dayUsed, month, monthUsed, ...missing] = (await this.#redis.gatehouseLimits(
      PREFIX + account,
      ...[hasQuota ? QUOTA_TTL_MS : RATE_TTL_MS, units],
      ...['day', date.day, date.nextDay, leastDay, 'month', date.month, date.nextMonth, leastMonth],
      ...[...buckets].flatMap(([method, bucket]) => [
        ...[method === '' ? '' : `:${method}`, bucket.perSecond, bucket.units],
        least === undefined ? 0 : missingUnits(least, { method, perSecond: bucket.perSecond }, clock.now()),
      ]),
    )) as [string, string, string, string, ...string[]];
    return {
      ...{ day, dayUsed: Number(dayUsed), month, monthUsed: Number(monthUsed) },
      missing: new Map([...buckets.keys()].map((method, index) => [method, Number(missing[index])])),
    };
  }

  reportFailure(error: unknown): unknown {
    return this.#link.reportFailure(error);
  }

  async waitUntilUp(timeoutMs: number): Promise<void> {
    await this.#link.waitUntilUp(timeoutMs);
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
