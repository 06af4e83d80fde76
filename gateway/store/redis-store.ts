import { random } from '../clock/random.ts';
import type { Log } from '../config/log.ts';
import { primariesOf, type RedisClient } from '../redis/client.ts';
import { isRedisError, redisErrorCode, RedisLink, type RedisLinkOptions } from '../redis/link.ts';
import { readRedisMemory, type RedisMemory } from '../redis/memory.ts';
import { storeUnreachable } from './store-error.ts';
import type { AddOptions, ChangeListener, PutOptions, Store, Sums } from './store.ts';

/** Begin of the fields in which sums have the number of the last `add` of each process. */
const LAST_ADD = 'from ';

const MAX_JOURNAL_ENTRIES = 10_000;
const MOVED_AT_ONCE = 200;

/**
 * Arguments: name, text, time to live in ms or 0, 1 if it is urgent, then `any`, `absent` or `equal`, the expected text. A Redis
 * whose memory is full permits a script to write after its first command has: HDEL needs no memory. Without the right to
 * publish, a record is put all the same.
 */
const putScript = `
if ARGV[5] ~= 'any' then
  local current = redis.call('HGET', KEYS[1], ARGV[1])
  if ARGV[5] == 'absent' and current then return 0 end
  if ARGV[5] == 'equal' and current ~= ARGV[6] then return 0 end
end
if ARGV[4] == '1' then redis.call('HDEL', KEYS[1], ARGV[1]) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] == '0' then redis.pcall('PUBLISH', KEYS[1], ARGV[1])
else redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`;

const deleteScript = `
local deleted = redis.call('HDEL', KEYS[1], ARGV[1])
if deleted == 1 then redis.pcall('PUBLISH', KEYS[1], ARGV[1]) end
return deleted`;

/** Arguments: fields and values. The hash is deleted if it has these and no others. */
const deleteHashScript = `
local now = redis.call('HGETALL', KEYS[1])
if #now ~= #ARGV then return 0 end
local expected = {}
for i = 1, #ARGV, 2 do expected[ARGV[i]] = ARGV[i + 1] end
for i = 1, #now, 2 do if expected[now[i]] ~= now[i + 1] then return 0 end end
return redis.call('DEL', KEYS[1])`;

/** Arguments: the greatest length, then fields and values. XTRIM comes first, as HDEL in `putScript`. */
const appendScript = `
redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[1])
redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))`;

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
  gatehouseDelete(key: string, name: string): Promise<number>;
  gatehouseDeleteHash(key: string, ...args: string[]): Promise<number>;
  gatehouseAppend(key: string, ...args: (string | number)[]): Promise<null>;
  gatehouseAdd(key: string, ...args: (string | number)[]): Promise<number[] | null>;
};

/**
 * Stores records and sums in Redis: the records of a folder in one hash `<folder>` by name, sums in one each, `<folder>:<name>`,
 * by field. Each operation uses one Redis key, so that a cluster needs no hash tags. The name of a record that is put or deleted
 * is published on the channel `<folder>`.
 */
export class RedisStore implements Store {
  readonly kind = 'redis';
  readonly location = 'in Redis (REDIS_URL)';
  readonly isFull = false;
  isConverting = false;
  readonly #options: Omit<RedisLinkOptions, 'purpose'>;
  readonly #log: Log;
  readonly #link: RedisLink;
  readonly #redis: ScriptedRedis;
  readonly #lastAdd = LAST_ADD + random.bytes(4).toString('hex');
  readonly #listeners: (readonly [folder: string, listener: ChangeListener])[] = [];
  /** The connection that subscribes; undefined: nothing is watched. */
  #changes: RedisLink | undefined;
  /** Whether Redis accepts subscriptions; undefined before the first connection. */
  #isSubscribed: boolean | undefined;

  /** Connects in the background, without a limit of attempts. */
  constructor(options: Omit<RedisLinkOptions, 'purpose'>) {
    this.#options = options;
    this.#log = options.log;
    this.#link = new RedisLink({ purpose: 'store', autoPipelining: true, ...options });
    const { redis } = this.#link;
    redis.defineCommand('gatehousePut', { numberOfKeys: 1, lua: putScript });
    redis.defineCommand('gatehouseDelete', { numberOfKeys: 1, lua: deleteScript });
    redis.defineCommand('gatehouseDeleteHash', { numberOfKeys: 1, lua: deleteHashScript });
    redis.defineCommand('gatehouseAppend', { numberOfKeys: 1, lua: appendScript });
    redis.defineCommand('gatehouseAdd', { numberOfKeys: 1, lua: addScript });
    this.#redis = redis as ScriptedRedis;
    // A subscriber cannot find out that its server is no primary any more.
    redis.on('close', () => this.#changes?.reconnect());
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  /** Whether changes are reported. In a cluster, the end of the connection that subscribes is not reported. */
  get isWatching(): boolean {
    return this.#isSubscribed === true && this.#changes?.isUp === true && !this.#redis.isCluster;
  }

  readonly readMemory = (): Promise<RedisMemory> => this.#run(() => readRedisMemory(this.#redis));

  async waitUntilReady(timeoutMs: number): Promise<void> {
    await Promise.all([this.#link.waitUntilUp(timeoutMs), this.#changes?.waitUntilUp(timeoutMs)]);
  }

  async get(folder: string, name: string): Promise<string | undefined> {
    return (await this.#run(() => this.#redis.hget(folder, name))) ?? undefined;
  }

  async scan(folder: string, prefix = ''): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    let cursor = '0';
    do {
      const [next, pairs] = await this.#run(() =>
        this.#redis.hscan(folder, cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000),
      );
      for (let index = 0; index < pairs.length; index += 2) found.set(pairs[index] ?? '', pairs[index + 1] ?? '');
      cursor = next;
    } while (cursor !== '0');
    return found;
  }

  async put(folder: string, name: string, text: string, options: PutOptions = {}): Promise<boolean> {
    const { expected, ttlMs = 0, isUrgent = false } = options;
    const condition = expected === undefined ? ['any'] : expected === null ? ['absent'] : ['equal', expected];
    const args = [name, text, ttlMs, isUrgent ? 1 : 0, ...condition];
    return (await this.#run(() => this.#redis.gatehousePut(folder, ...args))) === 1;
  }

  async delete(folder: string, name: string): Promise<boolean> {
    return (await this.#run(() => this.#redis.gatehouseDelete(folder, name))) > 0;
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

  watch(folder: string, listener: ChangeListener): void {
    this.#listeners.push([folder, listener]);
    if (this.#changes !== undefined) return;
    this.#changes = new RedisLink({
      purpose: 'changes',
      ...this.#options,
      prepare: (redis) => this.#subscribe(redis),
    });
    this.#changes.redis.on('message', (channel: string, name: string) => {
      for (const [each, report] of this.#listeners) if (each === channel) report(name);
    });
  }

  async append(journal: string, entry: Readonly<Record<string, string>>): Promise<void> {
    await this.#run(() => this.#redis.gatehouseAppend(journal, MAX_JOURNAL_ENTRIES, ...Object.entries(entry).flat()));
  }

  /**
   * Moves each hash `<folder>:<name>` of a former version. One that another process changes meanwhile is moved again.
   * @param move puts the content elsewhere, and returns whether the hash may be deleted
   * @returns the number of deleted hashes
   */
  async moveHashes(
    folder: string,
    move: (name: string, hash: Readonly<Record<string, string>>) => Promise<boolean>,
  ): Promise<number> {
    const moveOne = async (name: string): Promise<boolean> => {
      const key = `${folder}:${name}`;
      const hash = await this.#run(() => this.#redis.hgetall(key).catch(emptyIfNoHash));
      if (Object.keys(hash).length === 0 || !(await move(name, hash))) return false;
      const deleted = await this.#run(() => this.#redis.gatehouseDeleteHash(key, ...Object.entries(hash).flat()));
      return deleted > 0 || moveOne(name);
    };
    const names: string[] = [];
    for await (const name of this.names(folder)) names.push(name);
    let moved = 0;
    // Some at once, so that thousands take seconds with a distant Redis.
    for (let from = 0; from < names.length; from += MOVED_AT_ONCE) {
      const outcomes = await Promise.all(names.slice(from, from + MOVED_AT_ONCE).map(moveOne));
      moved += outcomes.filter(Boolean).length;
    }
    return moved;
  }

  async close(): Promise<void> {
    this.isConverting = false;
    await Promise.all([this.#link.close(), this.#changes?.close()]);
  }

  async #subscribe(redis: RedisClient): Promise<void> {
    try {
      await redis.subscribe(...new Set(this.#listeners.map(([folder]) => folder)));
      this.#isSubscribed = true;
    } catch (error) {
      if (!isRedisError(error)) throw error;
      if (this.#isSubscribed !== false) {
        const text = 'Redis rejects SUBSCRIBE: one lookup per key and second replaces it';
        this.#log.warn({ error: redisErrorCode(error) }, text);
      }
      this.#isSubscribed = false;
    }
    // Changes before the subscription were not reported.
    for (const [, report] of this.#listeners) report(undefined);
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
