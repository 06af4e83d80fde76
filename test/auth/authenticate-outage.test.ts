import { describe, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { RedisKeyStore } from '../../gateway/auth/stores/redis-key-store.ts';
import { freePort } from '../support/redis.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import {
  address,
  addKey,
  makeAuth,
  openAuth,
  openAuthThroughProxy,
  fillCache,
  deleteKey,
  revokeKey,
  setFields,
  silent,
  startOwnRedis,
} from './auth-setup.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

describe('while Redis is unavailable', () => {
  it('cached keys stay valid, other keys get key-store-unreachable, and no call waits', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const [seen, unseen] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, seen);
    await redis.kill();
    await eventually(() => !auth.store.isAvailable, 1_000);
    const access = auth.authenticator.authenticate(seen, address);
    expect(access).toMatchObject({ record: { name: 'alice' } });
    let hasWaited = false;
    setImmediate(() => (hasWaited = true));
    for (let n = 0; n < 100; n += 1) expect(await auth.try(unseen)).toBe('key-store-unreachable');
    // No call waits for a timer or a socket, so all end before the event loop's next turn.
    expect(hasWaited).toBe(false);
    await staysTrueFor(1_100, async () => (await auth.try(seen)) === 'valid');
    expect(auth.authenticator.counts.stale).toBeGreaterThan(0);
    expect(auth.authenticator.counts.unreachable).toBe(100);
  });

  it('cached keys stay valid for KEY_STALE_MAX_S', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url, { keyStaleMaxS: 1 });
    const key = await addKey(redis);
    await fillCache(auth, key);
    await redis.kill();
    await eventually(() => !auth.store.isAvailable, 900);
    expect(await auth.try(key)).toBe('valid');
    await eventually(async () => (await auth.try(key)) === 'key-store-unreachable', 3_000);
  });

  it('a key that is missing after the outage ends within a second', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const key = await addKey(redis);
    await fillCache(auth, key);
    await redis.kill();
    await staysTrueFor(1_500, async () => (await auth.try(key)) === 'valid');
    await redis.restart();
    await eventually(async () => (await auth.try(key)) === 'key-invalid', 1_000);
  });

  it('a key that is revoked while the connection is cut ends within a second after it is restored', async () => {
    const redis = await startOwnRedis();
    const { auth, proxy } = await openAuthThroughProxy(redis);
    const [revoked, cached] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, revoked, cached);
    await proxy.cut();
    await revokeKey(redis, revoked);
    for (const key of [revoked, cached]) await staysTrueFor(500, async () => (await auth.try(key)) === 'valid');
    await proxy.restore();
    await eventually(async () => (await auth.try(revoked)) === 'key-invalid', 1_000);
    expect(await auth.try(cached)).toBe('valid');
  });

  it('a key that is revoked while the connection is cut no longer limits the concurrency of its team', async () => {
    const redis = await startOwnRedis();
    const { auth, proxy } = await openAuthThroughProxy(redis);
    const [revoked, other] = [await addKey(redis), await addKey(redis)];
    await setFields(redis, revoked, 'team', 'core', 'concurrency', '2');
    await setFields(redis, other, 'team', 'core');
    await fillCache(auth, revoked, other);
    const { share } = await auth.authenticator.authenticate(other, address);
    expect(share.requests.size).toBe(2);
    await proxy.cut();
    await revokeKey(redis, revoked);
    await proxy.restore();
    await eventually(async () => (await auth.try(revoked)) === 'key-invalid', 2_000);
    expect(share.requests.size).toBe(256);
  });

  it('no call waits longer than 700 ms for a Redis that hangs, and keys are checked again after it resumes', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const [seen, unseen] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, seen);
    redis.pause();
    const waits: number[] = [];
    const deadline = performance.now() + 2_500;
    while (performance.now() < deadline) {
      const start = performance.now();
      expect(auth.authenticator.authenticate(seen, address)).toMatchObject({ record: { name: 'alice' } });
      expect(await auth.try(unseen)).toBe('key-store-unreachable');
      waits.push(performance.now() - start);
      await scenarioPause(10);
    }
    expect(Math.max(...waits)).toBeLessThan(700);
    // Only the calls before the first timeout wait.
    expect(waits.filter((wait) => wait > 50).length).toBeLessThanOrEqual(2);
    redis.resume();
    await eventually(async () => (await auth.try(unseen)) === 'valid', 1_000);
    await deleteKey(redis, seen);
    await eventually(async () => (await auth.try(seen)) === 'key-invalid', 1_000);
  });

  it('a gateway that starts without Redis accepts keys within a second after Redis starts', async () => {
    const port = await freePort();
    const auth = makeAuth(new RedisKeyStore(`redis://127.0.0.1:${port}`, silent));
    const key = makeKey();
    expect(await auth.try(key)).toBe('key-store-unreachable');
    expect(await auth.try('nonsense')).toBe('key-invalid');
    await staysTrueFor(1_200, async () => (await auth.try(key)) === 'key-store-unreachable');
    const redis = await startOwnRedis(port);
    await addKey(redis, key);
    await eventually(async () => (await auth.try(key)) === 'valid', 1_000);
  });
});

describe('a revoked key, without reports of changes', () => {
  it('ends within a second if the connection is closed', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const key = await addKey(redis);
    await fillCache(auth, key);
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await deleteKey(redis, key);
    await eventually(async () => (await auth.try(key)) === 'key-invalid', 1_000);
    await eventually(() => auth.store.freshForMs > 1_000, 1_000);
  });

  it('ends about a second after the connection becomes silent', async () => {
    const redis = await startOwnRedis();
    const { auth, proxy, changesPort } = await openAuthThroughProxy(redis);
    const key = await addKey(redis);
    await fillCache(auth, key);
    proxy.holdResponses(changesPort);
    await deleteKey(redis, key);
    await eventually(async () => (await auth.try(key)) === 'key-invalid', 1_200);
    // A new connection replaces the silent one.
    await eventually(() => auth.store.freshForMs > 1_000, 3_000);
  });

  it('ends at once if Redis rejects CLIENT TRACKING; a DEL by redis-cli takes effect after about a second', async () => {
    const redis = await startOwnRedis();
    await redis.cli('ACL', 'SETUSER', 'managed', 'on', '>pass', '~*', '&*', '+@all', '-client|tracking');
    const auth = makeAuth(new RedisKeyStore(redis.url.replace('//', '//managed:pass@'), silent));
    await auth.store.waitUntilReady(1_000);
    await eventually(async () => (await redis.cli('PUBSUB', 'NUMSUB', 'gatehouse:keys')).endsWith('1'), 2_000);
    const [deleted, revoked] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, deleted, revoked);
    await deleteKey(redis, deleted);
    await eventually(async () => (await auth.try(deleted)) === 'key-invalid', 1_050);
    expect(await auth.try(revoked)).toBe('valid');
    const commandLine = await openAuth(redis.url);
    await commandLine.store.revoke(keyIdOf(digestOf(revoked)));
    expect(await eventually(async () => (await auth.try(revoked)) === 'key-invalid', 1_000)).toBeLessThan(300);
  });
});
