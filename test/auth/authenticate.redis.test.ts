import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { listKeys } from '../../gateway/auth/stores/key-store.ts';
import { KeyAccount } from '../../gateway/admission/key-accounts.ts';
import type { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { openKeys } from '../support/open-keys.ts';
import { putKeyByHand } from '../support/redis-keys.ts';
import type { RedisServer } from '../support/redis.ts';
import { cleanups } from '../support/cleanups.ts';
import { elasticClock } from '../support/elastic-clock.ts';
import { eventually, SOON_MS, staysTrueFor } from '../support/eventually.ts';
import {
  address,
  addKey,
  createdAt,
  countLookups,
  makeAuth,
  openAuth,
  fillCache,
  deleteKey,
  holdLookups,
  revokeKey,
  startOwnRedis,
  type AuthSetup,
} from './auth-setup.ts';

describe('while Redis is available', () => {
  let redis: RedisServer;
  let auth: AuthSetup;
  let key: string;

  beforeEach(async () => {
    redis = await startOwnRedis();
    key = await addKey(redis);
    auth = await openAuth(redis.url);
  });

  it('a key costs one lookup, and no promise once it is cached', async () => {
    const access = await auth.authenticator.authenticate(key, address);
    const id = keyIdOf(digestOf(key));
    expect(access).toEqual({
      record: { id, name: 'alice', createdAt },
      account: new KeyAccount(id),
      entry: [],
      capabilities: { explain: false, private: false, verify: false, verifyLevel: 'off' },
    });
    for (let n = 0; n < 100; n += 1) expect(auth.authenticator.authenticate(key, address)).toBe(access);
    expect(await countLookups(redis)).toBe(1);
    expect(auth.authenticator.counts).toEqual({ hit: 100, stale: 0, found: 1, unknown: 0, unreachable: 0 });
  });

  it('concurrent calls with one new key share one lookup', async () => {
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => auth.try(key)));
    expect(new Set(outcomes)).toEqual(new Set(['valid']));
    expect(await countLookups(redis)).toBe(1);
  });

  it('a missing, malformed or too long key is rejected without a lookup', async () => {
    expect(await auth.try('')).toBe('key-missing');
    for (const text of [
      'alice',
      `${key}x`,
      key.slice(0, -1),
      'a'.repeat(100_000),
      '__proto__',
      `${key.slice(0, -1)}é`,
    ]) {
      expect(await auth.try(text)).toBe('key-invalid');
    }
    expect(await countLookups(redis)).toBe(0);
  });

  it('an unknown key is rejected, with one lookup for many calls', async () => {
    const unknown = makeKey();
    for (let n = 0; n < 50; n += 1) expect(await auth.try(unknown)).toBe('key-invalid');
    expect(await countLookups(redis)).toBe(1);
  });

  it('a rejected key is valid as soon as it is created', async () => {
    const created = makeKey();
    expect(await auth.try(created)).toBe('key-invalid');
    await addKey(redis, created);
    // An unknown key is not looked up again for 5 s.
    await eventually(async () => (await auth.try(created)) === 'valid', 3_000);
  });

  it('a key that the command line revokes is rejected within a second', async () => {
    expect(await auth.try(key)).toBe('valid');
    const commandLine = await openAuth(redis.url);
    await commandLine.store.revoke(keyIdOf(digestOf(key)));
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
  });

  it.each([
    ['HDEL and PUBLISH', (): Promise<unknown> => deleteKey(redis, key)],
    ['HSET and PUBLISH', (): Promise<unknown> => revokeKey(redis, key)],
    [
      'FLUSHALL and a PUBLISH of another text',
      async (): Promise<void> => {
        await redis.cli('FLUSHALL');
        await redis.cli('PUBLISH', 'gatehouse:key', 'all');
      },
    ],
  ])('%s by redis-cli ends a key within a second', async (_, act) => {
    expect(await auth.try(key)).toBe('valid');
    await act();
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
  });

  it('a record that changes during its lookup is not cached', async () => {
    const { release } = holdLookups(auth);
    const early = auth.try(key);
    await eventually(async () => (await countLookups(redis)) === 1, SOON_MS);
    const reported: (string | undefined)[] = [];
    auth.store.onChange((digest) => reported.push(digest));
    await deleteKey(redis, key);
    await eventually(() => reported.includes(digestOf(key)), SOON_MS);
    release();
    expect(await early).toBe('valid');
    expect(await auth.try(key)).toBe('key-invalid');
  });

  it('a development key is valid only if development keys are allowed', async () => {
    const own = await openAuth(redis.url, { allowDevelopmentKeys: true });
    await putKeyByHand(redis, key, { name: 'alice', development: true });
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
    expect(await auth.try(key)).toBe('key-invalid');
    expect(await own.try(key)).toBe('valid');
    const other = await addKey(redis);
    await putKeyByHand(redis, other, { name: 'alice', development: '1' });
    expect([await auth.try(other), await own.try(other)]).toEqual(['key-invalid', 'valid']);
  });

  it.each(['x', '[]', '{"rate":"5"}'])(
    'a key whose record is %s is 503 with a log line, and not in the list',
    async (text) => {
      const lines: string[] = [];
      const own = await openAuth(redis.url, { log: pino({}, { write: (line: string) => void lines.push(line) }) });
      await fillCache(own, key);
      await putKeyByHand(redis, key, text);
      await eventually(async () => (await own.try(key)) === 'key-store-unreachable', SOON_MS);
      for (let n = 0; n < 10; n++) expect(await own.try(key)).toBe('key-store-unreachable');
      const id = keyIdOf(digestOf(key));
      expect(lines.filter((line) => line.includes('key rejected') && line.includes(id))).not.toEqual([]);
      expect(lines.length).toBeLessThan(10);
      expect(await listKeys(own.store)).not.toContainEqual(expect.objectContaining({ id }));
    },
  );

  it('concurrent unknown keys of an address are limited too; valid keys do not count', async () => {
    const good = await Promise.all(Array.from({ length: 30 }, () => addKey(redis)));
    for (const one of good) expect(await auth.try(one, '198.51.100.2')).toBe('valid');
    const before = await countLookups(redis);
    const guesses = await Promise.all(Array.from({ length: 100 }, () => auth.try(makeKey(), '198.51.100.2')));
    expect(guesses.filter((reason) => reason === 'unknown-key-limit')).toHaveLength(80);
    expect(await countLookups(redis)).toBe(before + 100);
  });

  it('an address that tries many unknown keys is limited for a while; other addresses and known keys are not', async () => {
    await fillCache(auth, key);
    for (let n = 0; n < 20; n += 1) expect(await auth.try(makeKey())).toBe('key-invalid');
    for (let n = 0; n < 20; n += 1) expect(await auth.try(makeKey())).toBe('unknown-key-limit');
    expect(await auth.try(makeKey(), `::ffff:${address}`)).toBe('unknown-key-limit');

    expect(await auth.try(key)).toBe('valid');
    expect(await auth.try(makeKey(), '198.51.100.1')).toBe('key-invalid');
    // Also if the known key needs another lookup, after a lost connection.
    const requested = await countLookups(redis);
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => {
      expect(await auth.try(key)).toBe('valid');
      return (await countLookups(redis)) > requested;
    }, SOON_MS);
    await expect(Promise.resolve(auth.authenticator.authenticate(makeKey(), address))).rejects.toSatisfy(
      ({ retryAfterS }: RpcError) => retryAfterS !== undefined && retryAfterS >= 1 && retryAfterS <= 10,
    );
  });

  it('an address with too many unknown keys has few lookups at once, and its valid keys are served', async () => {
    for (let n = 0; n < 20; n += 1) expect(await auth.try(makeKey())).toBe('key-invalid');
    const { started, release } = holdLookups(auth);
    const guesses = Promise.all(Array.from({ length: 100 }, () => auth.try(makeKey())));
    const valid = auth.try(key);
    await staysTrueFor(100, () => started() <= 8);
    expect(started()).toBeGreaterThan(0);
    release();
    expect(new Set(await guesses)).toEqual(new Set(['unknown-key-limit']));
    expect(await valid).toBe('valid');
  });

  it('revoked keys do not count as unknown keys', async () => {
    const keys = await Promise.all(Array.from({ length: 30 }, () => addKey(redis)));
    for (const one of keys) await revokeKey(redis, one);
    for (const one of keys) expect(await auth.try(one)).toBe('key-invalid');
  });
});

it('a lookup that waits for 10 s behind unknown keys of its address is 429, and not an unreachable store', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  cleanups.push(() => rm(dataDir, { recursive: true }));
  const store = openKeys({ DATA_DIR: dataDir });
  const auth = makeAuth(store);
  for (let n = 0; n < 20; n += 1) expect(await auth.try(makeKey())).toBe('key-invalid');
  store.find = () => new Promise(() => undefined);
  for (let n = 0; n < 7; n += 1) void auth.try(makeKey());
  expect(await elasticClock().advanceUntil(auth.try(makeKey()))).toBe('unknown-key-limit');
  expect(auth.authenticator.counts).toMatchObject({ unknown: 21, unreachable: 0 });
});

describe('with keys in a file', () => {
  it('keys are valid as soon as they are created, and end within a second after another process revokes them', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
    cleanups.push(() => rm(dataDir, { recursive: true }));
    const auth = makeAuth(openKeys({ DATA_DIR: dataDir }));
    const commandLine = makeAuth(openKeys({ DATA_DIR: dataDir }));
    const key = makeKey();
    expect(await auth.try(key)).toBe('key-invalid');
    await commandLine.store.add(digestOf(key), { name: 'alice', createdAt });
    await eventually(async () => (await auth.try(key)) === 'valid', SOON_MS);
    await commandLine.store.revoke(keyIdOf(digestOf(key)));
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
  });
});
