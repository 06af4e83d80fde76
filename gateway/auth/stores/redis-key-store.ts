import { clock } from '../../clock/clock.ts';
import type { Log } from '../../config/log.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { isDigest, isKeyId, keyIdOf } from '../formats/key.ts';
import {
  fieldsOfKey,
  KeyRecordMalformed,
  type ChangeListener,
  type KeyRecord,
  type KeyStore,
  type AuditEntry,
  type PermissionChange,
  type RevocationListener,
  type RevocationOutcome,
  type StoredKey,
} from './key-store.ts';
import { primariesOf, type RedisClient } from '../../redis/client.ts';
import { isRedisError, redisErrorCode, RedisLink } from '../../redis/link.ts';
import { readRedisMemory, type RedisMemory } from '../../redis/memory.ts';
import { addScript, DigestsById, KEY_PREFIX, toRecord, undefinedIfNoHash, updateScript } from './redis-keys.ts';
import { storeUnreachable } from '../../store/redis-store.ts';
import { parseRedisUrl } from '../../redis/url.ts';

const AUDIT_KEY = 'gatehouse:audit';
const MAX_AUDIT_ENTRIES = 10_000;
/** Gatehouse publishes the digest of each key that it changes, for a Redis that rejects CLIENT TRACKING. */
const CHANGES_CHANNEL = 'gatehouse:keys';
/** Channel of Redis' reports (https://redis.io/docs/latest/develop/reference/client-side-caching/). */
const INVALIDATION_CHANNEL = '__redis__:invalidate';

/** Redis reports each change within milliseconds. The limit covers lost reports. */
const TRACKED_TTL_MS = 30_000;
/** Without tracking, a DEL by hand is not reported: a lookup every 0.9 s detects it within a second. */
const UNTRACKED_TTL_MS = 900;
/** Concurrent lookups while listing, and concurrent revocations: each must finish within the command timeout. */
const MAX_CONCURRENT = 50;

/** Stores keys in Redis, shared by all gateways, and reports changes within a second, also those by redis-cli. */
export class RedisKeyStore implements KeyStore {
  readonly kind = 'redis';
  readonly location = 'in Redis (REDIS_URL)';
  /** Redis reports a full disk or memory with each command that it rejects. */
  readonly isFull = false;
  readonly #log: Log;
  readonly #commands: RedisLink;
  readonly #changes: RedisLink;
  readonly #listeners = new Set<ChangeListener>();
  /** Whether Redis reports changes of keys on `#changes`; undefined before the first connection. */
  #isTracking: boolean | undefined;
  /** The listing in progress, which concurrent ones share. It ends with the next change. */
  #listing: Promise<ReadonlyMap<string, KeyRecord>> | undefined;

  /**
   * Connects in the background, without a limit of attempts.
   * @param acceptsReplica for commands, which may read keys from a replica
   * @throws SettingsError for a malformed URL
   */
  constructor(url: string, log: Log, acceptsReplica = false) {
    const address = parseRedisUrl(url);
    this.#log = log;
    const options = { address, log, acceptsReplica };
    this.#commands = new RedisLink({ purpose: 'commands', ...options });
    this.#changes = new RedisLink({ purpose: 'changes', ...options, prepare: (redis) => this.#trackChanges(redis) });
    // A subscriber cannot find out that its server is no primary any more.
    this.#commands.redis.on('close', () => {
      this.#changes.reconnect();
    });
    this.#changes.redis.on('message', (channel: string, message: string) => {
      this.#onMessage(channel, message);
    });
  }

  get isAvailable(): boolean {
    return this.#commands.isUp;
  }

  get freshForMs(): number {
    return this.#isTracking === true && this.#changes.isUp ? TRACKED_TTL_MS : UNTRACKED_TTL_MS;
  }

  async waitUntilReady(timeoutMs: number): Promise<void> {
    // Waits for both connections, so that every later change is reported.
    const [isUp] = await Promise.all([this.#commands.waitUntilUp(timeoutMs), this.#changes.waitUntilUp(timeoutMs)]);
    if (!isUp) throw storeUnreachable(this.#commands.lastError);
  }

  readonly readMemory = (): Promise<RedisMemory> => this.#run(readRedisMemory);

  async find(digest: string): Promise<KeyRecord | undefined> {
    const hash = await this.#run((redis) => redis.hgetall(KEY_PREFIX + digest).catch(undefinedIfNoHash));
    if (hash !== undefined) return toRecord(digest, hash);
    throw new KeyRecordMalformed(`the record of the key ${keyIdOf(digest)} in Redis is not a hash: use redis-cli`);
  }

  async add(digest: string, key: StoredKey): Promise<boolean> {
    const fields = Object.entries(fieldsOfKey(key)).flatMap(([field, value]) => [field, String(value)]);
    const isNew = await this.#run((redis) => redis.eval(addScript, 1, KEY_PREFIX + digest, ...fields));
    await this.#publish(digest);
    return isNew === 1;
  }

  entries(): Promise<ReadonlyMap<string, KeyRecord>> {
    if (this.#listing !== undefined) return this.#listing;
    const listing = this.#readAll().finally(() => {
      if (this.#listing === listing) this.#listing = undefined;
    });
    return (this.#listing = listing);
  }

  async show(id: string): Promise<KeyRecord | undefined> {
    const digest = await this.#digestOfId(id);
    return digest === undefined ? undefined : this.find(digest);
  }

  async revoke(id: string): Promise<KeyRecord | undefined> {
    return this.#revokeDigest(await this.#digestOfId(id));
  }

  /** Reads the names of all keys once, because a scan for each id would read them as often. */
  async revokeAll(ids: readonly string[], onRevoked: RevocationListener): Promise<RevocationOutcome[]> {
    const digests = new DigestsById(await this.#digests(''));
    const revoke = async (id: string): Promise<KeyRecord | undefined> => {
      const record = await this.#revokeDigest(digests.get(id));
      if (record !== undefined) await onRevoked(record);
      return record;
    };
    const outcomes: RevocationOutcome[] = [];
    for (let from = 0; from < ids.length; from += MAX_CONCURRENT) {
      await timeSlicer.next();
      outcomes.push(...(await Promise.allSettled(ids.slice(from, from + MAX_CONCURRENT).map(revoke))));
    }
    return outcomes;
  }

  async remove(digest: string): Promise<boolean> {
    const removed = await this.#run((redis) => redis.del(KEY_PREFIX + digest));
    await this.#publish(digest);
    return removed === 1;
  }

  rename(id: string, name: string): Promise<KeyRecord | undefined> {
    return this.#set(id, ['name', name]);
  }

  update(id: string, change: PermissionChange): Promise<KeyRecord | undefined> {
    return this.#set(
      id,
      Object.entries(change).flatMap(([field, value]) => [field, value ?? '']),
    );
  }

  /** @param fields names and values; an empty value removes a field */
  async #set(id: string, fields: readonly string[]): Promise<KeyRecord | undefined> {
    const digest = await this.#digestOfId(id);
    if (digest === undefined) return undefined;
    await this.#run((redis) => redis.eval(updateScript, 1, KEY_PREFIX + digest, ...fields));
    await this.#publish(digest);
    return this.find(digest);
  }

  async audit(entry: AuditEntry): Promise<void> {
    const fields = Object.entries(entry).flat() as string[];
    await this.#run((redis) => redis.xadd(AUDIT_KEY, 'MAXLEN', '~', MAX_AUDIT_ENTRIES, '*', ...fields));
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await Promise.all([this.#commands.close(), this.#changes.close()]);
  }

  /**
   * Enables reports of every write to a key on this connection. The connection redirects tracking to itself, because
   * ioredis drops RESP3 pushes. Tracking ends with the connection, so this runs on each new one.
   */
  async #trackChanges(redis: RedisClient): Promise<void> {
    const rejection = await rejectionCode(async () => {
      // In a cluster each node reports only its own keys, on its own connection.
      if (redis.isCluster) return;
      const id = String(await redis.call('CLIENT', 'ID'));
      await redis.call('CLIENT', 'TRACKING', 'ON', 'REDIRECT', id, 'BCAST', 'PREFIX', KEY_PREFIX);
      await redis.subscribe(INVALIDATION_CHANNEL);
    });
    const subscribeError = await rejectionCode(() => redis.subscribe(CHANGES_CHANNEL));
    if (rejection !== undefined && this.#isTracking !== false) {
      const published = subscribeError === undefined ? 'published changes and ' : '';
      const text = `Redis rejects CLIENT TRACKING: ${published}one lookup per key and second replace it`;
      this.#log.warn({ error: rejection }, text);
    }
    this.#isTracking = rejection === undefined && !redis.isCluster;
    // Changes before the subscription were not reported.
    this.#notifyListeners(undefined);
  }

  #onMessage(channel: string, message: string): void {
    if (channel === CHANGES_CHANNEL) {
      this.#notifyListeners(isDigest(message) ? message : undefined);
      return;
    }
    // ioredis joins the keys of one message by commas; FLUSHALL has none.
    if (message === '') this.#notifyListeners(undefined);
    else for (const key of message.split(',')) this.#notifyListeners(key.slice(KEY_PREFIX.length));
  }

  #notifyListeners(digest: string | undefined): void {
    this.#listing = undefined;
    for (const listener of this.#listeners) listener(digest);
  }

  /** A rejected PUBLISH does not undo the write: other gateways detect it by tracking or by the next lookup. */
  async #publish(digest: string): Promise<void> {
    this.#listing = undefined;
    await this.#commands.redis.publish(CHANGES_CHANNEL, digest).catch(() => undefined);
  }

  async #digestOfId(id: string): Promise<string | undefined> {
    return isKeyId(id) ? new DigestsById(await this.#digests(id)).get(id) : undefined;
  }

  async #revokeDigest(digest: string | undefined): Promise<KeyRecord | undefined> {
    if (digest === undefined) return undefined;
    await this.#run((redis) => redis.hsetnx(KEY_PREFIX + digest, 'revokedAt', new Date(clock.unixMs()).toISOString()));
    await this.#publish(digest);
    return this.find(digest);
  }

  /** In small groups, between which calls are served. */
  async #readAll(): Promise<ReadonlyMap<string, KeyRecord>> {
    const digests = await this.#digests('');
    const records = new Map<string, KeyRecord>();
    for (let from = 0; from < digests.length; from += MAX_CONCURRENT) {
      await timeSlicer.next();
      const part = digests.slice(from, from + MAX_CONCURRENT);
      const found = await Promise.all(part.map((digest) => this.#findListed(digest)));
      for (const [index, record] of found.entries()) if (record !== undefined) records.set(part[index] ?? '', record);
    }
    return records;
  }

  /** A listing has no malformed record. */
  async #findListed(digest: string): Promise<KeyRecord | undefined> {
    try {
      return await this.find(digest);
    } catch (error) {
      if (!(error instanceof KeyRecordMalformed)) throw error;
      this.#log.error({ error: error.message }, 'a key is left out of the list');
      return undefined;
    }
  }

  /** Scans all keys of the database: for the command line, never for a call. */
  async #digests(start: string): Promise<string[]> {
    const found = new Set<string>();
    for (const primary of primariesOf(this.#commands.redis)) {
      let cursor = '0';
      do {
        const [next, keys] = await this.#run(() =>
          primary.scan(cursor, 'MATCH', `${KEY_PREFIX}${start}*`, 'COUNT', 1000),
        );
        for (const key of keys) found.add(key.slice(KEY_PREFIX.length));
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

/** @returns the code if Redis rejects the command, else undefined. Other failures are thrown. */
async function rejectionCode(request: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await request();
    return undefined;
  } catch (error) {
    if (isRedisError(error)) return redisErrorCode(error);
    throw error;
  }
}
