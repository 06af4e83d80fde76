import type { Log } from '../../config/log.ts';
import { isDigest, isKeyId } from '../formats/key.ts';
import {
  byAge,
  fieldsOfKey,
  keyFromFields,
  keyRecord,
  KeyStoreError,
  type ChangeListener,
  type KeyRecord,
  type KeyStore,
  type AuditEntry,
  type PermissionChange,
  type StoredKey,
} from './key-store.ts';
import { primariesOf, type RedisClient } from '../../redis/client.ts';
import { isRedisError, redisErrorCode, RedisLink } from '../../redis/link.ts';
import { storeUnreachable } from './redis-unreachable.ts';
import { parseRedisUrl } from '../../redis/url.ts';

/**
 * A key is one hash, `gatehouse:key:<sha256>`, with the fields name, createdAt and, where they apply, revokedAt,
 * development and those of `key-rules.ts`. HGETALL shows it, DEL ends it. Only keys may bear this prefix: each write below it is a change to us.
 */
const keyPrefix = 'gatehouse:key:';
/** A stream with an entry for each act of management. */
const auditKey = 'gatehouse:audit';
const maxAuditEntries = 10_000;
/** Every writer of ours says here which digest it changed, for a Redis that refuses CLIENT TRACKING. */
const changesChannel = 'gatehouse:keys';
/** Where Redis itself tells of changes (https://redis.io/docs/latest/develop/reference/client-side-caching/). */
const invalidationChannel = '__redis__:invalidate';

/** Redis tells of each change within milliseconds; the limit is only a net. */
const trackedTtlMs = 30_000;
/** Nobody may tell us of a DEL by hand: ask often enough to know within a second. */
const untrackedTtlMs = 900;
/** Look-ups under way at once while listing, few enough that each is answered in time. */
const listStep = 500;

/** Whole or not at all: a key that is there must not be given some of another's rules. */
const addScript = `
  if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], unpack(ARGV))
    return 1
  end
  for i = 1, #ARGV, 2 do
    if ARGV[i] == 'revokedAt' then redis.call('HSETNX', KEYS[1], 'revokedAt', ARGV[i + 1]) end
  end
  return 0`;

/** Never brings back a key that was deleted meanwhile. */
const updateScript = `
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  for i = 1, #ARGV, 2 do
    if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i])
    else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
  end
  return 1`;

export class RedisKeyStore implements KeyStore {
  readonly kind = 'redis';
  readonly #log: Log;
  readonly #commands: RedisLink;
  readonly #changes: RedisLink;
  readonly #listeners = new Set<ChangeListener>();
  #tracked: boolean | undefined;

  /**
   * Connects in the background, for ever.
   * @throws SettingsError for a malformed URL.
   */
  constructor(url: string, log: Log) {
    const address = parseRedisUrl(url);
    this.#log = log;
    this.#commands = new RedisLink({ purpose: 'commands', address, log });
    this.#changes = new RedisLink({ purpose: 'changes', address, log, prepare: (redis) => this.#watch(redis) });
    this.#changes.redis.on('message', (channel: string, message: string) => {
      this.#onMessage(channel, message);
    });
  }

  get isAvailable(): boolean {
    return this.#commands.isUp;
  }

  get freshForMs(): number {
    return this.#tracked === true && this.#changes.isUp ? trackedTtlMs : untrackedTtlMs;
  }

  async waitUntilReady(timeoutMs: number): Promise<void> {
    // Both: what is changed from now on is heard of in its order, not found out afterwards.
    const [isUp] = await Promise.all([this.#commands.waitUntilUp(timeoutMs), this.#changes.waitUntilUp(timeoutMs)]);
    if (!isUp) throw storeUnreachable(this.#commands.lastError);
  }

  find(digest: string): Promise<KeyRecord | undefined> {
    return this.#run(async (redis) => toRecord(digest, await redis.hgetall(keyPrefix + digest).catch(emptyIfNoHash)));
  }

  async add(digest: string, key: StoredKey): Promise<boolean> {
    const fields = Object.entries(fieldsOfKey(key)).flatMap(([field, value]) => [field, String(value)]);
    const isNew = await this.#run((redis) => redis.eval(addScript, 1, keyPrefix + digest, ...fields));
    await this.#publish(digest);
    return isNew === 1;
  }

  async list(): Promise<KeyRecord[]> {
    const digests = await this.#digests('');
    const records: (KeyRecord | undefined)[] = [];
    for (let from = 0; from < digests.length; from += listStep) {
      const step = digests.slice(from, from + listStep);
      records.push(...(await Promise.all(step.map((digest) => this.find(digest)))));
    }
    return records.filter((record) => record !== undefined).sort(byAge);
  }

  async show(id: string): Promise<KeyRecord | undefined> {
    const digest = await this.#digestOfId(id);
    return digest === undefined ? undefined : this.find(digest);
  }

  async revoke(id: string): Promise<KeyRecord | undefined> {
    const digest = await this.#digestOfId(id);
    if (digest === undefined) return undefined;
    await this.#run((redis) => redis.hsetnx(keyPrefix + digest, 'revokedAt', new Date().toISOString()));
    await this.#publish(digest);
    return this.find(digest);
  }

  async update(id: string, change: PermissionChange): Promise<KeyRecord | undefined> {
    const digest = await this.#digestOfId(id);
    if (digest === undefined) return undefined;
    const fields = Object.entries(change).flatMap(([field, value]) => [field, value ?? '']);
    await this.#run((redis) => redis.eval(updateScript, 1, keyPrefix + digest, ...fields));
    await this.#publish(digest);
    return this.find(digest);
  }

  async audit(act: AuditEntry): Promise<void> {
    const fields = Object.entries(act).flat() as string[];
    await this.#run((redis) => redis.xadd(auditKey, 'MAXLEN', '~', maxAuditEntries, '*', ...fields));
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await Promise.all([this.#commands.close(), this.#changes.close()]);
  }

  /**
   * Has Redis tell this connection of every write to a key, whoever wrote: a connection that redirects tracking to
   * itself, since ioredis drops the pushes of RESP3. Tracking ends with the connection, hence on each new one.
   */
  async #watch(redis: RedisClient): Promise<void> {
    const rejection = await rejectionCode(async () => {
      // Each node would tell of its own keys only, on a connection of its own.
      if (redis.isCluster) return;
      const id = String(await redis.call('CLIENT', 'ID'));
      await redis.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', id, 'BCAST', 'PREFIX', keyPrefix);
      await redis.subscribe(invalidationChannel);
    });
    const subscribeError = await rejectionCode(() => redis.subscribe(changesChannel));
    if (rejection !== undefined && this.#tracked !== false) {
      const without = subscribeError === undefined ? 'published changes and ' : '';
      const text = `Redis refuses CLIENT TRACKING: ${without}one look-up per key and second take its place`;
      this.#log.warn({ error: rejection }, text);
    }
    this.#tracked = rejection === undefined && !redis.isCluster;
    // What changed before we listened, nobody told us.
    this.#notifyListeners(undefined);
  }

  #onMessage(channel: string, message: string): void {
    if (channel === changesChannel) {
      this.#notifyListeners(isDigest(message) ? message : undefined);
      return;
    }
    // ioredis joins the keys of one message by commas; FLUSHALL has none.
    if (message === '') this.#notifyListeners(undefined);
    else for (const key of message.split(',')) this.#notifyListeners(key.slice(keyPrefix.length));
  }

  #notifyListeners(digest: string | undefined): void {
    for (const listener of this.#listeners) listener(digest);
  }

  /** A refused PUBLISH does not undo the write: other gateways then learn of it by tracking or by asking. */
  async #publish(digest: string): Promise<void> {
    await this.#commands.redis.publish(changesChannel, digest).catch(() => undefined);
  }

  async #digestOfId(id: string): Promise<string | undefined> {
    if (!isKeyId(id)) return undefined;
    const digests = await this.#digests(id);
    if (digests.length > 1) throw new KeyStoreError(`The id ${id} stands for ${digests.length} keys: use redis-cli`);
    return digests[0];
  }

  /** Walks through all keys of the database: for the command line, never for a call. */
  async #digests(start: string): Promise<string[]> {
    const found = new Set<string>();
    for (const leader of primariesOf(this.#commands.redis)) {
      let cursor = '0';
      do {
        const [next, keys] = await this.#run(() =>
          leader.scan(cursor, 'MATCH', `${keyPrefix}${start}*`, 'COUNT', 1000),
        );
        for (const key of keys) found.add(key.slice(keyPrefix.length));
        cursor = next;
      } while (cursor !== '0');
    }
    return [...found].filter(isDigest);
  }

  async #run<Result>(command: (redis: RedisClient) => Promise<Result>): Promise<Result> {
    if (!this.#commands.isUp) throw storeUnreachable(this.#commands.lastError);
    try {
      return await command(this.#commands.redis);
    } catch (error) {
      throw storeUnreachable(this.#commands.reportFailure(error));
    }
  }
}

/** @returns the code of Redis' refusal, or undefined where it agreed. Other failures are thrown on. */
async function rejectionCode(request: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await request();
    return undefined;
  } catch (error) {
    if (isRedisError(error)) return redisErrorCode(error);
    throw error;
  }
}

/** Something else stands in a key's place: that is no key, and no reason to go by what was known before. */
function emptyIfNoHash(error: unknown): Record<string, string> {
  if (redisErrorCode(error) === 'WRONGTYPE') return {};
  throw error;
}

/** Any field makes a key: an operator may have written the hash by hand. */
function toRecord(digest: string, hash: Record<string, string>): KeyRecord | undefined {
  return Object.keys(hash).length === 0 ? undefined : keyRecord(digest, keyFromFields(hash));
}
