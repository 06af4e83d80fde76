import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../redis/client.ts';
import { storeUnreachable } from '../auth/stores/redis-unreachable.ts';
import type { RedisLink } from '../redis/link.ts';
import {
  amountNames,
  byDayAndMethod,
  newAmounts,
  rowOf,
  textOf,
  usageRetentionDays,
  type Amounts,
  type UsageBatch,
  type UsageRow,
  type UsageStore,
} from './usage-store.ts';

/**
 * A key's day is one hash, `gatehouse:usage:<key id>:<YYYY-MM-DD>`, with fields such as `base eth_call calls`, and `units`,
 * `errors` and `bytes` likewise; and for each gateway `from <random>`, the number of the last batch that it added.
 */
const usagePrefix = 'gatehouse:usage:';
/** Batches under way at once, few enough that each is answered in time. */
const step = 500;

/** The number is written first: what fails halfway, for a field that a hand spoilt, is not added once more. */
const addScript = `
local last = redis.call('HGET', KEYS[1], ARGV[1])
if last and tonumber(last) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
local function add(field, amount)
  if amount ~= '0' then redis.call('HINCRBY', KEYS[1], field, amount) end
end
for i = 4, #ARGV do
  local place, calls, units, errors, bytes = string.match(ARGV[i], '^(%S+ %S+) (%d+) (%d+) (%d+) (%d+)$')
  add(place .. ' calls', calls)
  add(place .. ' units', units)
  add(place .. ' errors', errors)
  add(place .. ' bytes', bytes)
end
return 1`;

type CountingRedis = RedisClient & { gatehouseUse(key: string, ...args: (string | number)[]): Promise<number> };

export class RedisUsageStore implements UsageStore {
  readonly #link: RedisLink;
  readonly #redis: CountingRedis;
  readonly #from = `from ${randomBytes(4).toString('hex')}`;

  /** @param link closed by `close` */
  constructor(link: RedisLink) {
    this.#link = link;
    link.redis.defineCommand('gatehouseUse', { numberOfKeys: 1, lua: addScript });
    this.#redis = link.redis as CountingRedis;
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  async add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]> {
    const left: UsageBatch[] = [];
    for (let from = 0; from < batches.length; from += step) {
      const some = batches.slice(from, from + step);
      const written = await Promise.all(some.map((batch) => this.#write(batch)));
      left.push(...some.filter((_, index) => written[index] !== true));
    }
    return left;
  }

  async read(key: string, days: readonly string[]): Promise<UsageRow[]> {
    try {
      const hashes = await Promise.all(days.map((day) => this.#redis.hgetall(nameOf(key, day))));
      return days.flatMap((day, index) => rowsOf(day, hashes[index] ?? {})).sort(byDayAndMethod);
    } catch (error) {
      throw storeUnreachable(this.#link.reportFailure(error));
    }
  }

  async waitUntilReady(timeoutMs: number): Promise<void> {
    await this.#link.waitUntilUp(timeoutMs);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async #write({ key, day, number, amounts }: UsageBatch): Promise<boolean> {
    if (!this.#link.isUp) return false;
    try {
      await this.#redis.gatehouseUse(
        nameOf(key, day),
        this.#from,
        number,
        usageRetentionDays * 86_400,
        ...amounts.map(textOf),
      );
      return true;
    } catch (error) {
      this.#link.reportFailure(error);
      return false;
    }
  }
}

function nameOf(key: string, day: string): string {
  return `${usagePrefix}${key}:${day}`;
}

function rowsOf(day: string, hash: Readonly<Record<string, string>>): UsageRow[] {
  const places = new Map<string, Amounts>();
  for (const [field, value] of Object.entries(hash)) {
    const [network, method, name] = field.split(' ');
    const amount = amountNames.find((each) => each === name);
    if (amount === undefined) continue;
    const place = `${network ?? ''} ${method ?? ''}`;
    const amounts = places.get(place) ?? newAmounts();
    amounts[amount] = Number(value);
    places.set(place, amounts);
  }
  return [...places].map(([place, amounts]) => rowOf(day, place, amounts));
}
