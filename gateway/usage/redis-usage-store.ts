import { random } from '../clock/random.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { primariesOf, type RedisClient } from '../redis/client.ts';
import { undefinedIfNoHash } from '../auth/stores/redis-keys.ts';
import { storeUnreachable } from '../store/redis-store.ts';
import type { RedisLink } from '../redis/link.ts';
import {
  addOnDay,
  amountNames,
  byDayAndMethod,
  newAmounts,
  rowOf,
  textOf,
  USAGE_RETENTION_DAYS,
  type Amounts,
  type PlacedAmounts,
  type ListedUsageStore,
  type UsageBatch,
  type UsageDay,
  type UsageRow,
  type UsageSum,
} from './usage-store.ts';

/**
 * The usage of a key on a day is one hash, `gatehouse:usage:<key id>:<YYYY-MM-DD>`. Its fields are
 * `<place> calls`, and the same with `units`, `errors` and `bytes`. Each gateway has a field `from <random>`
 * with the number of the last batch that it added.
 */
const USAGE_PREFIX = 'gatehouse:usage:';
const usageName = /^gatehouse:usage:(\S+):(\d{4}-\d\d-\d\d)$/;
const usageField = new RegExp(`^(\\S+ \\S+) (${amountNames.join('|')})$`);
/** Concurrent batches: each must finish within the command timeout. */
const MAX_CONCURRENT_BATCHES = 500;

/** Writes the number first: if a field is malformed and the script fails halfway, the batch is not added twice. */
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

/** Stores usage in Redis, summed over all gateways. */
export class RedisUsageStore implements ListedUsageStore {
  readonly #link: RedisLink;
  readonly #redis: CountingRedis;
  /** Field with the number of this gateway's last batch. */
  readonly #numberField = `from ${random.bytes(4).toString('hex')}`;

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
    const failed: UsageBatch[] = [];
    for (let from = 0; from < batches.length; from += MAX_CONCURRENT_BATCHES) {
      const some = batches.slice(from, from + MAX_CONCURRENT_BATCHES);
      const writes: Promise<boolean>[] = [];
      for (const batch of some) {
        const pause = timeSlicer.next();
        if (pause !== undefined) await pause;
        writes.push(this.#write(batch));
      }
      const written = await Promise.all(writes);
      failed.push(...some.filter((_, index) => written[index] !== true));
    }
    return failed;
  }

  async read(key: string, days: readonly string[]): Promise<UsageRow[]> {
    try {
      const hashes = await Promise.all(days.map((day) => this.#hash(nameOf(key, day))));
      return days.flatMap((day, index) => rowsOf(day, hashes[index] ?? {})).sort(byDayAndMethod);
    } catch (error) {
      throw storeUnreachable(this.#link.reportFailure(error));
    }
  }

  /** One key after the other: each must finish within the command timeout. */
  async sum(keys: readonly string[], days: readonly string[]): Promise<UsageSum[]> {
    const sums: UsageSum[] = [];
    for (const key of keys) {
      await timeSlicer.next();
      const sum: UsageSum = newAmounts();
      for (const row of await this.read(key, days)) addOnDay(sum, row.day, row);
      sums.push(sum);
    }
    return sums;
  }

  async *entries(): AsyncIterable<UsageDay> {
    try {
      for (const primary of primariesOf(this.#redis)) {
        let cursor = '0';
        do {
          const [next, names] = await primary.scan(cursor, 'MATCH', `${USAGE_PREFIX}*`, 'COUNT', 1000);
          const hashes = await Promise.all(names.map((name) => this.#hash(name)));
          for (const [index, name] of names.entries()) {
            const [, key, day] = usageName.exec(name) ?? [];
            if (key !== undefined && day !== undefined) yield { key, day, amounts: amountsOf(hashes[index] ?? {}) };
          }
          cursor = next;
        } while (cursor !== '0');
      }
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

  async #hash(name: string): Promise<Record<string, string>> {
    return (await this.#redis.hgetall(name).catch(undefinedIfNoHash)) ?? {};
  }

  async #write({ key, day, number, amounts }: UsageBatch): Promise<boolean> {
    if (!this.#link.isUp) return false;
    try {
      await this.#redis.gatehouseUse(
        nameOf(key, day),
        this.#numberField,
        number,
        USAGE_RETENTION_DAYS * 86_400,
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
  return `${USAGE_PREFIX}${key}:${day}`;
}

function rowsOf(day: string, hash: Readonly<Record<string, string>>): UsageRow[] {
  return amountsOf(hash).map(({ place, ...amounts }) => rowOf(day, place, amounts));
}

/** Leaves out what an operator may have written by hand and is no usage. */
function amountsOf(hash: Readonly<Record<string, string>>): PlacedAmounts[] {
  const places = new Map<string, Amounts>();
  for (const [field, text] of Object.entries(hash)) {
    const [, place, name] = usageField.exec(field) ?? [];
    const amount = Number(text);
    if (place === undefined || !Number.isSafeInteger(amount) || amount < 0) continue;
    const amounts = places.get(place) ?? newAmounts();
    amounts[name as keyof Amounts] = amount;
    places.set(place, amounts);
  }
  return [...places].map(([place, amounts]) => ({ place, ...amounts }));
}
