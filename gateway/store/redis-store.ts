import { random } from '../clock/random.ts';
import { primariesOf, type RedisClient } from '../redis/client.ts';
import { redisErrorCode, unreachable, type RedisLink } from '../redis/link.ts';
import { StoreUnreachable } from './store-error.ts';
import type { AddOptions, PutOptions, Store, Sums } from './store.ts';

/** Begin of the fields in which sums have the number of the last `add` of each process. */
const LAST_ADD = 'from ';

/** Arguments: name, text, time to live in ms or 0, then `any`, `absent` or `equal`, the expected text. */
const putScript = `
if ARGV[4] ~= 'any' then
  local current = redis.call('HGET', KEYS[1], ARGV[1])
  if ARGV[4] == 'absent' and current then return 0 end
  if ARGV[4] == 'equal' and current ~= ARGV[5] then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`;

/**
 * Arguments: field of the number, number, time to live in ms, then fields and deltas. Writes the number first: if a field is
 * malformed and the script fails halfway, nothing is added twice.
 */
const addScript = `
local last = redis.call('HGET', KEYS[1], ARGV[1])
if last and tonumber(last) >= tonumber(ARGV[2]) then return false end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local sums = {}
for i = 4, #ARGV, 2 do sums[#sums + 1] = redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
return sums`;

type ScriptedRedis = RedisClient & {
  gatehousePut(key: string, ...args: (string | number)[]): Promise<number>;
  gatehouseAdd(key: string, ...args: (string | number)[]): Promise<number[] | null>;
};

/**
 * Stores records and sums in Redis: the records of a folder in one hash `<folder>` by name, sums in one each, `<folder>:<name>`,
 * by field. Each operation uses one Redis key, so that a cluster needs no hash tags.
 */
export class RedisStore implements Store {
  readonly location = 'in Redis (REDIS_URL)';
  readonly #link: RedisLink;
  readonly #redis: ScriptedRedis;
  readonly #lastAdd = LAST_ADD + random.bytes(4).toString('hex');

  /** @param link closed by `close` */
  constructor(link: RedisLink) {
    this.#link = link;
    link.redis.defineCommand('gatehousePut', { numberOfKeys: 1, lua: putScript });
    link.redis.defineCommand('gatehouseAdd', { numberOfKeys: 1, lua: addScript });
    this.#redis = link.redis as ScriptedRedis;
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  async waitUntilReady(timeoutMs: number): Promise<void> {
    await this.#link.waitUntilUp(timeoutMs);
  }

  async get(folder: string, name: string): Promise<string | undefined> {
    return (await this.#run(() => this.#redis.hget(folder, name))) ?? undefined;
  }

  async scan(folder: string): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.#run(() => this.#redis.hgetall(folder))));
  }

  async put(folder: string, name: string, text: string, { expected, ttlMs = 0 }: PutOptions = {}): Promise<boolean> {
    const condition = expected === undefined ? ['any'] : expected === null ? ['absent'] : ['equal', expected];
    return (await this.#run(() => this.#redis.gatehousePut(folder, name, text, ttlMs, ...condition))) === 1;
  }

  async delete(folder: string, name: string): Promise<boolean> {
    return (await this.#run(() => this.#redis.hdel(folder, name))) > 0;
  }

  async add(folder: string, name: string, deltas: Sums, { ttlMs, number }: AddOptions): Promise<Sums | undefined> {
    const fields = Object.keys(deltas);
    const key = `${folder}:${name}`;
    const sums = await this.#run(() =>
      this.#redis.gatehouseAdd(key, this.#lastAdd, number, ttlMs, ...Object.entries(deltas).flat()),
    );
    return sums === null ? undefined : Object.fromEntries(sums.map((sum, index) => [fields[index] ?? '', sum]));
  }

  async sums(folder: string, names: readonly string[]): Promise<readonly Sums[]> {
    const read = (name: string): Promise<Record<string, string>> =>
      this.#redis.hgetall(`${folder}:${name}`).catch(emptyIfNoHash);
    return (await this.#run(() => Promise.all(names.map(read)))).map(sumsIn);
  }

  async *names(folder: string): AsyncIterable<string> {
    const start = `${folder}:`;
    for (const primary of primariesOf(this.#redis)) {
      let cursor = '0';
      do {
        const [next, keys] = await this.#run(() => primary.scan(cursor, 'MATCH', `${start}*`, 'COUNT', 1000));
        for (const key of keys) yield key.slice(start.length);
        cursor = next;
      } while (cursor !== '0');
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async #run<Result>(command: () => Promise<Result>): Promise<Result> {
    if (!this.#link.isUp) throw storeUnreachable(this.#link.lastError);
    try {
      return await command();
    } catch (error) {
      throw storeUnreachable(this.#link.reportFailure(error));
    }
  }
}

/** Makes the error of a store whose Redis did not respond or rejected the command. */
export function storeUnreachable(cause: unknown): StoreUnreachable {
  const { message, code } = unreachable(cause);
  return new StoreUnreachable(message, code);
}

/** An operator may have written something else by hand. */
function emptyIfNoHash(error: unknown): Record<string, string> {
  if (redisErrorCode(error) !== 'WRONGTYPE') throw error;
  return {};
}

/** Leaves out what an operator may have written by hand and is no sum. */
function sumsIn(hash: Readonly<Record<string, string>>): Sums {
  const sums = Object.entries(hash).map(([field, text]) => [field, Number(text)] as const);
  return Object.fromEntries(sums.filter(([field, sum]) => !field.startsWith(LAST_ADD) && Number.isSafeInteger(sum)));
}
