import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listKeys } from '../../../gateway/auth/stores/key-store.ts';
import { clock } from '../../../gateway/clock/clock.ts';
import { SettingsError } from '../../../gateway/config/settings.ts';
import { digestOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { parseRedisUrl } from '../../../gateway/redis/url.ts';
import { elasticClock, withoutTimeBesideRedis } from '../../support/elastic-clock.ts';
import { openKeys, type OpenKeys } from '../../support/open-keys.ts';
import { freePort, startRedis, type RedisServer } from '../../support/redis.ts';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { waits } from '../auth-setup.ts';

const silent = pino({ level: 'silent' });

describe('keys in Redis', () => {
  async function startOwnRedis(): Promise<RedisServer> {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    return redis;
  }

  /** Opens keys and watches them, as a gateway. */
  async function open(url: string, log = silent): Promise<OpenKeys> {
    const keys = openKeys({ REDIS_URL: url }, log);
    onTestFinished(() => keys.close());
    keys.onChange(() => undefined);
    await keys.store.waitUntilReady(SOON_MS);
    return keys;
  }

  it('are listed, thousands among other data', async () => {
    const redis = await startOwnRedis();
    const store = await open(redis.url);
    const script = `for i = 1, 3000 do
      redis.call('HSET', 'gatehouse:key', redis.sha1hex(i) .. string.format('%024x', i), '{"name":"' .. i .. '"}')
      redis.call('SET', 'other:' .. i, i)
    end`;
    await redis.cli('EVAL', script, '0');
    await redis.cli('HSET', 'gatehouse:key', 'not-a-digest', '1');
    expect(await listKeys(store)).toHaveLength(3000);
  });

  it('are stored in the database of the URL', async () => {
    const redis = await startOwnRedis();
    const store = await open(`${redis.url}/3`);
    await store.add(digestOf(makeKey()), { name: 'alice', createdAt: '2026-01-01T00:00:00.000Z' });
    expect(await redis.cli('INFO', 'keyspace')).toContain('db3:keys=1');
  });

  it('are unreachable at once while Redis is unavailable, with a code and without the URL', async () => {
    const port = await freePort();
    const store = await open(`redis://user:secret@127.0.0.1:${port}`);
    await expect(store.find(digestOf('a'))).rejects.toThrow('Redis is unreachable (ECONNREFUSED): check REDIS_URL');
    expect(store.isAvailable).toBe(false);
    const find = () =>
      expect(store.find(digestOf('a'))).rejects.toMatchObject({ name: 'StoreUnreachable', code: 'ECONNREFUSED' });
    expect(await waits(find)).toBe(false);
  });

  it('cost one timeout in total while Redis hangs', async () => {
    const redis = await startOwnRedis();
    const store = await open(redis.url);
    const find = () => expect(store.find(digestOf('a'))).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await withoutTimeBesideRedis(async () => {
      redis.pause();
      let hasEnded = false;
      const before = clock.sleep(499);
      const first = find().finally(() => (hasEnded = true));
      const after = clock.sleep(501);
      /** Moves the time until the sleep ends, and lets the event loop turn so that the end of the lookup is seen. */
      const hasEndedAt = async (sleep: Promise<void>): Promise<boolean> => {
        let isOver = false;
        void sleep.then(() => (isOver = true));
        while (!isOver) await elasticClock().advance(1);
        for (let turn = 0; turn < 10; turn += 1) await clock.nextTurn();
        return hasEnded;
      };
      expect(await hasEndedAt(before)).toBe(false);
      expect(await hasEndedAt(after)).toBe(true);
      await first;
    });
    for (let n = 0; n < 20; n += 1) expect(await waits(find)).toBe(false);
  });

  it('are rejected with a wrong password', async () => {
    const redis = await startOwnRedis();
    await redis.cli('CONFIG', 'SET', 'requirepass', 'right');
    const store = await open(redis.url.replace('//', '//:wrong@'));
    await expect(store.find(digestOf('a'))).rejects.toThrow(
      'Redis rejects the connection (WRONGPASS): check REDIS_URL',
    );
    const right = await open(redis.url.replace('//', '//:right@'));
    expect(await listKeys(right)).toEqual([]);
  });

  it('need only the commands of this ACL', async () => {
    const redis = await startOwnRedis();
    const allowed = '+ping +hget +subscribe';
    const scope = '%R~gatehouse:key &gatehouse:key';
    await redis.cli('ACL', 'SETUSER', 'gateway', 'on', '>pass', ...scope.split(' '), '-@all', ...allowed.split(' '));
    const store = await open(redis.url.replace('//', '//gateway:pass@'));
    await eventually(() => store.freshForMs === 30_000, SOON_MS);
    expect(await store.find(digestOf('a'))).toBeUndefined();
  });

  it('log each outage of Redis once, without address or password', async () => {
    const redis = await startOwnRedis();
    await redis.cli('CONFIG', 'SET', 'requirepass', 'secret');
    const lines: string[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
    const store = await open(redis.url.replace('//', '//:secret@'), log);
    await eventually(() => lines.length === 2, SOON_MS);
    await redis.kill();
    await eventually(() => !store.isAvailable, SOON_MS);
    await eventually(() => lines.length === 4, SOON_MS);
    // Several attempts to connect fail in this time.
    await store.store.waitUntilReady(800);
    await store.close();
    const entries = lines.map((line) => JSON.parse(line) as { connection: string; error?: string; msg: string });
    expect(entries.map(({ connection, msg }) => `${connection}: ${msg}`).sort()).toEqual([
      'changes: Redis is available',
      'changes: Redis is unavailable',
      'store: Redis is available',
      'store: Redis is unavailable',
    ]);
    expect(lines.join('')).not.toMatch(/secret|127\.0\.0\.1|redis:/);
  });

  it('leave no socket and no timer open after close, in any state of Redis', async () => {
    const resources = (): string[] =>
      process.getActiveResourcesInfo().filter((kind) => /^(TCP|TLS|Timeout|GetAddr)/.test(kind));
    const redis = await startOwnRedis();
    const before = resources().length;
    const close = async (prepare: (store: OpenKeys) => Promise<unknown>): Promise<void> => {
      const store = openKeys({ REDIS_URL: redis.url });
      store.onChange(() => undefined);
      await prepare(store);
      await store.close();
      await eventually(() => resources().length <= before, SOON_MS);
    };
    await close(() => Promise.resolve());
    await close(({ store }) => store.waitUntilReady(SOON_MS));
    await close(async (store) => {
      await store.store.waitUntilReady(SOON_MS);
      redis.pause();
      await expect(store.find(digestOf('a'))).rejects.toThrow('ETIMEDOUT');
    });
    redis.resume();
    await redis.kill();
    await close(({ store }) => store.waitUntilReady(1_000));
  });
});

describe('REDIS_URL', () => {
  it('has host, port, user, password, database and TLS', () => {
    expect(parseRedisUrl('redis://10.0.0.1')).toEqual({ host: '10.0.0.1', port: 6379, db: 0 });
    expect(parseRedisUrl('rediss://me:p%40ss@[::1]:7000/5?family=6')).toEqual({
      host: '::1',
      port: 7000,
      db: 5,
      username: 'me',
      password: 'p@ss',
      tls: {},
      family: 6,
    });
    expect(parseRedisUrl('/run/redis.sock')).toEqual({ path: '/run/redis.sock' });
  });

  it('has Sentinels and the name of their group, or nodes of a cluster', () => {
    const url = 'rediss+sentinel://me:p%2Css@a,b:7,[::1]:8/main/2?sentinelPassword=x%26y&family=6';
    expect(parseRedisUrl(url)).toEqual({
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 7 },
        { host: '::1', port: 8 },
      ],
      ...{ name: 'main', db: 2, username: 'me', password: 'p,ss', tls: {}, sentinelPassword: 'x&y', family: 6 },
    });
    expect(parseRedisUrl('redis+sentinel://a/main')).toEqual({
      ...{ sentinels: [{ host: 'a', port: 26_379 }], name: 'main', db: 0 },
    });
    expect(parseRedisUrl('redis+cluster://:secret@10.0.0.1,10.0.0.2:7000')).toEqual({
      cluster: [
        { host: '10.0.0.1', port: 6379 },
        { host: '10.0.0.2', port: 7000 },
      ],
      password: 'secret',
    });
  });

  it.each([
    'localhost:6379',
    'http://localhost',
    'redis://',
    'redis://host/name',
    'redis://host?protocol=3',
    'redis://host:port',
    'redis://:secret%@host',
    'rediss:secret',
    'redis://a,b',
    'redis+sentinel://:secret@a',
    'redis+sentinel://a/main/secret',
    'redis+cluster://:secret@a/1',
    'redis+cluster://a,,b',
    'redis+cluster://a,b?family=1',
    'redis+other://secret',
  ])('%s is rejected at once, without quoting it', (url) => {
    expect(() => openKeys({ REDIS_URL: url })).toThrow(SettingsError);
    expect(() => openKeys({ REDIS_URL: url })).toThrow(/^REDIS_URL: (?!.*secret)/);
  });
});
