import { describe, expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { Revocations } from '../../gateway/auth/tokens/revocations.ts';
import { reportOf } from '../support/gateway.ts';
import { openKeys } from '../support/open-keys.ts';
import { putKeyByHand } from '../support/redis-keys.ts';
import { freePort } from '../support/redis.ts';
import { eventually, SOON_MS, staysTrueFor } from '../support/eventually.ts';
import {
  address,
  addKey,
  makeAuth,
  openAuth,
  openAuthThroughProxy,
  fillCache,
  deleteKey,
  revokeKey,
  createdAt,
  startOwnRedis,
  waits,
} from './auth-setup.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

describe('while Redis is unavailable', () => {
  it('cached keys stay valid, other keys get key-store-unreachable, and no call waits', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const [seen, unseen] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, seen);
    await redis.kill();
    await eventually(() => !auth.store.isAvailable, SOON_MS);
    const access = auth.authenticator.authenticate(seen, address);
    expect(access).toMatchObject({ record: { name: 'alice' } });
    const hasWaited = await waits(async () => {
      for (let n = 0; n < 100; n += 1) expect(await auth.try(unseen)).toBe('key-store-unreachable');
    });
    expect(hasWaited).toBe(false);
    await staysTrueFor(1_100, async () => (await auth.try(seen)) === 'valid');
    expect(auth.authenticator.counts.stale).toBeGreaterThan(0);
    expect(auth.authenticator.counts.unreachable).toBe(100);
  });

  it('cached keys stay valid for KEY_STALE_MAX_S', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url, { keyStaleMaxS: 3 });
    const key = await addKey(redis);
    await fillCache(auth, key);
    await redis.kill();
    await eventually(() => !auth.store.isAvailable, SOON_MS);
    expect(await auth.try(key)).toBe('valid');
    await eventually(async () => (await auth.try(key)) === 'key-store-unreachable', 10_000);
  });

  it('KEY_STALE_MAX_S below the time for which keys are fresh also bounds them, and a known revocation stays', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url, { keyStaleMaxS: 0 });
    const [key, revoked] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, key, revoked);
    const revocations = new Revocations(auth.store, 0);
    const reported = reportOf(auth.store, revoked);
    await revokeKey(redis, revoked);
    await reported;
    expect(await revocations.isAnyRevoked([digestOf(revoked)])).toBe(true);
    await redis.kill();
    await eventually(() => !auth.store.isAvailable, SOON_MS);
    expect(await auth.try(key)).toBe('key-store-unreachable');
    expect(await revocations.isAnyRevoked([digestOf(key), digestOf(revoked)])).toBe(true);
    await expect(revocations.isAnyRevoked([digestOf(key)])).rejects.toMatchObject({ reason: 'key-store-unreachable' });
  });

  it('a key that is missing after the outage ends within a second', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const key = await addKey(redis);
    await fillCache(auth, key);
    await redis.kill();
    await staysTrueFor(1_500, async () => (await auth.try(key)) === 'valid');
    await redis.restart();
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
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
    await eventually(async () => (await auth.try(revoked)) === 'key-invalid', SOON_MS);
    expect(await auth.try(cached)).toBe('valid');
  });

  it('a key that is revoked while the connection is cut no longer limits the concurrency of its team', async () => {
    const redis = await startOwnRedis();
    const { auth, proxy } = await openAuthThroughProxy(redis);
    const [revoked, other] = [await addKey(redis), await addKey(redis)];
    await putKeyByHand(redis, revoked, { name: 'alice', createdAt, team: 'core', concurrency: '2' });
    await putKeyByHand(redis, other, { name: 'alice', createdAt, team: 'core' });
    await fillCache(auth, revoked, other);
    const { account } = await auth.authenticator.authenticate(other, address);
    expect(account.requests.size).toBe(2);
    await proxy.cut();
    await revokeKey(redis, revoked);
    await proxy.restore();
    await eventually(async () => (await auth.try(revoked)) === 'key-invalid', SOON_MS);
    expect(account.requests.size).toBe(256);
  });

  it('only the first calls wait for a Redis that hangs, each for one timeout, and keys are checked again after it resumes', async () => {
    const redis = await startOwnRedis();
    const auth = await openAuth(redis.url);
    const [seen, unseen] = [await addKey(redis), await addKey(redis)];
    await fillCache(auth, seen);
    redis.pause();
    let waiting = 0;
    const deadline = clock.now() + 2_500;
    while (clock.now() < deadline) {
      const hasWaited = await waits(async () => {
        expect(auth.authenticator.authenticate(seen, address)).toMatchObject({ record: { name: 'alice' } });
        expect(await auth.try(unseen)).toBe('key-store-unreachable');
      });
      if (hasWaited) waiting++;
      await scenarioPause(10);
    }
    // Only the calls before the first timeout wait. It is 0.5 s.
    expect(waiting).toBeLessThanOrEqual(2);
    redis.resume();
    await eventually(async () => (await auth.try(unseen)) === 'valid', SOON_MS);
    await deleteKey(redis, seen);
    await eventually(async () => (await auth.try(seen)) === 'key-invalid', SOON_MS);
  });

  it('a gateway that starts without Redis accepts keys within a second after Redis starts', async () => {
    const port = await freePort();
    const auth = makeAuth(openKeys({ REDIS_URL: `redis://127.0.0.1:${port}` }));
    const key = makeKey();
    expect(await auth.try(key)).toBe('key-store-unreachable');
    expect(await auth.try('nonsense')).toBe('key-invalid');
    await staysTrueFor(1_200, async () => (await auth.try(key)) === 'key-store-unreachable');
    const redis = await startOwnRedis(port);
    await addKey(redis, key);
    await eventually(async () => (await auth.try(key)) === 'valid', SOON_MS);
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
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
    await eventually(() => auth.store.freshForMs > 1_000, SOON_MS);
  });

  it('ends about a second after the connection becomes silent', async () => {
    const redis = await startOwnRedis();
    const { auth, proxy, changesPort } = await openAuthThroughProxy(redis);
    const key = await addKey(redis);
    await fillCache(auth, key);
    proxy.holdResponses(changesPort);
    await deleteKey(redis, key);
    await eventually(async () => (await auth.try(key)) === 'key-invalid', SOON_MS);
    // A new connection replaces the silent one.
    await eventually(() => auth.store.freshForMs > 1_000);
  });

  it('ends about a second later if Redis rejects SUBSCRIBE', async () => {
    const redis = await startOwnRedis();
    await redis.cli('ACL', 'SETUSER', 'managed', 'on', '>pass', '~*', '&*', '+@all', '-subscribe');
    const auth = makeAuth(openKeys({ REDIS_URL: redis.url.replace('//', '//managed:pass@') }));
    await auth.store.store.waitUntilReady(1_000);
    expect(auth.store.freshForMs).toBe(900);
    const [deleted, cached] = [await addKey(redis), await addKey(redis)];
    for (const key of [deleted, cached]) expect(await auth.try(key)).toBe('valid');
    await deleteKey(redis, deleted);
    await eventually(async () => (await auth.try(deleted)) === 'key-invalid', SOON_MS);
    expect(await auth.try(cached)).toBe('valid');
  });
});
