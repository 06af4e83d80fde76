import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { KEY_FOLDER, listKeys } from '../../../gateway/auth/stores/key-store.ts';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { openKeys, type OpenKeys } from '../../support/open-keys.ts';
import { startRedis } from '../../support/redis.ts';

const createdAt = '2026-01-02T03:04:05.678Z';

describe.each(['file', 'redis'])('keys in a store of the kind %s', (kind) => {
  let settings: { REDIS_URL: string | undefined; DATA_DIR: string };
  let store: OpenKeys;

  const open = async (): Promise<OpenKeys> => {
    const keys = openKeys(settings);
    onTestFinished(() => keys.close());
    await keys.store.waitUntilReady(10_000);
    return keys;
  };

  beforeEach(async () => {
    const redis = kind === 'redis' ? await startRedis() : undefined;
    settings = { REDIS_URL: redis?.url, DATA_DIR: mkdtempSync(join(tmpdir(), 'gatehouse-')) };
    onTestFinished(async () => {
      await redis?.stop();
      rmSync(settings.DATA_DIR, { recursive: true });
    });
    store = await open();
  });

  it('finds a key that was added, by its digest', async () => {
    const digest = digestOf(makeKey());
    expect(await store.add(digest, { name: 'alice', createdAt })).toBe(true);
    expect(await store.find(digest)).toEqual({ id: keyIdOf(digest), name: 'alice', createdAt });
  });

  it('does not find a key that was never added', async () => {
    expect(await store.find(digestOf(makeKey()))).toBeUndefined();
  });

  it('stores the mark of a development key', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'development', createdAt, development: true });
    expect(await store.find(digest)).toMatchObject({ development: true });
  });

  it('stores any name unchanged', async () => {
    const name = 'Zoë "the, key" \\ 鍵 __proto__';
    const digest = digestOf(makeKey());
    await store.add(digest, { name, createdAt });
    expect((await store.find(digest))?.name).toBe(name);
  });

  it('does not change a key that is added again', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'first', createdAt });
    expect(await store.add(digest, { name: 'second', createdAt: '2026-05-05T00:00:00.000Z' })).toBe(false);
    expect(await store.find(digest)).toEqual({ id: keyIdOf(digest), name: 'first', createdAt });
  });

  it('adds a revocation if a revoked key is added again, and never undoes one', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    await store.add(digest, { name: 'alice', createdAt, revokedAt: '2026-06-06T00:00:00.000Z' });
    await store.add(digest, { name: 'alice', createdAt });
    expect(await store.find(digest)).toMatchObject({ revokedAt: '2026-06-06T00:00:00.000Z' });
  });

  it('lists all keys, oldest first', async () => {
    expect(await listKeys(store)).toEqual([]);
    for (const [name, year] of Object.entries({ middle: 2025, oldest: 2024, newest: 2026 })) {
      await store.add(digestOf(makeKey()), { name, createdAt: `${year}-01-01T00:00:00.000Z` });
    }
    expect((await listKeys(store)).map((record) => record.name)).toEqual(['oldest', 'middle', 'newest']);
  });

  it('shows a key by its id', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    expect(await store.show(keyIdOf(digest))).toEqual(await store.find(digest));
  });

  it('shows nothing for an id that is unknown, shortened or a pattern', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    for (const id of ['000000000000', keyIdOf(digest).slice(0, 6), '*', '']) {
      expect(await store.show(id)).toBeUndefined();
      expect(await store.revoke(id)).toBeUndefined();
    }
    expect((await store.find(digest))?.revokedAt).toBeUndefined();
  });

  it('revokes a key, which stays in the list with the time of the first revocation', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    const revoked = await store.revoke(keyIdOf(digest));
    expect(Date.parse(revoked?.revokedAt ?? '')).toBeGreaterThan(Date.now() - 5_000);
    expect(await store.find(digest)).toEqual(revoked);
    expect(await listKeys(store)).toEqual([revoked]);
    expect(await store.revoke(keyIdOf(digest))).toEqual(revoked);
  });

  it('reads changes of another process, and reports them within a second', async () => {
    const other = await open();
    const digest = digestOf(makeKey());
    const reported: (string | undefined)[] = [];
    store.onChange((changed) => reported.push(changed));
    const isReported = (): boolean => reported.splice(0).some((changed) => changed === digest || changed === undefined);

    await other.add(digest, { name: 'alice', createdAt });
    await eventually(isReported, SOON_MS);
    expect(await store.find(digest)).toMatchObject({ name: 'alice' });

    await other.revoke(keyIdOf(digest));
    await eventually(isReported, SOON_MS);
    expect((await store.find(digest))?.revokedAt).toBeDefined();
  });

  it('reports its own changes, too', async () => {
    const reported: (string | undefined)[] = [];
    store.onChange((changed) => reported.push(changed));
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt });
    await eventually(() => reported.includes(digest) || reported.includes(undefined), SOON_MS);
  });

  it('loses nothing if two processes write concurrently', async () => {
    const other = await open();
    const digests = Array.from({ length: 40 }, () => digestOf(makeKey()));
    await Promise.all(
      digests.map((digest, at) => (at % 2 === 0 ? store : other).add(digest, { name: `key ${at}`, createdAt })),
    );
    const third = await open();
    expect((await listKeys(third)).map(({ id }) => id).sort()).toEqual(digests.map(keyIdOf).sort());
  });

  it('are JSON texts that an operator can read, without the key itself', async () => {
    const digest = digestOf(makeKey());
    await store.add(digest, { name: 'alice', createdAt, permissions: { rate: '5' } });
    const text = await store.store.get(KEY_FOLDER, digest);
    expect(JSON.parse(text ?? '')).toEqual({ name: 'alice', createdAt, rate: '5' });
    await store.store.put(KEY_FOLDER, digest, '{"name": "by hand"}');
    expect(await store.find(digest)).toEqual({ id: keyIdOf(digest), name: 'by hand', createdAt: '' });
    expect(await store.add(digest, { name: 'again', createdAt })).toBe(false);
  });

  it('change as all processes change them at the same moment', async () => {
    const other = await open();
    const digest = digestOf(makeKey());
    const id = keyIdOf(digest);
    await store.add(digest, { name: 'alice', createdAt, permissions: { rate: '5' } });
    await Promise.all([
      store.update(id, { daily: '10' }),
      other.update(id, { burst: '20' }),
      store.rename(id, 'bob'),
      other.update(id, { rate: undefined }),
      other.revoke(id),
    ]);
    const found = await store.find(digest);
    expect(found).toMatchObject({ name: 'bob', permissions: { daily: '10', burst: '20' } });
    expect([found?.permissions?.['rate'], typeof found?.revokedAt]).toEqual([undefined, 'string']);
  });
});
