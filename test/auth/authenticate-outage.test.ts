import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { RedisKeyStore } from '../../gateway/auth/stores/redis-key-store.ts';
import { freePort } from '../support/redis.ts';
import { eventually } from './eventually.ts';
import {
  address,
  addByHand,
  makeGate,
  openGate,
  openGateThroughProxy,
  remember,
  removeByHand,
  revokeByHand,
  silent,
  startOwnRedis,
} from './gate.ts';

describe.concurrent('when Redis goes away', () => {
  it('keys seen before go on, others are told that they cannot be checked, and no call waits', async () => {
    const redis = await startOwnRedis();
    const gate = await openGate(redis.url);
    const [seen, unseen] = [await addByHand(redis), await addByHand(redis)];
    await remember(gate, seen);
    await redis.kill();
    await eventually(() => !gate.store.isAvailable, 1_000);
    const access = gate.authenticator.authenticate(seen, address);
    expect(access).toMatchObject({ record: { name: 'alice' } });
    const start = performance.now();
    for (let n = 0; n < 100; n += 1) expect(await gate.try(unseen)).toBe('key-store-unreachable');
    expect(performance.now() - start).toBeLessThan(100);
    await sleep(1_100);
    expect(await gate.try(seen)).toBe('in');
    expect(gate.authenticator.counts.stale).toBeGreaterThan(0);
    expect(gate.authenticator.counts.unreachable).toBe(100);
  });

  it('keys seen before go on for KEY_STALE_MAX_S and no longer', async () => {
    const redis = await startOwnRedis();
    const gate = await openGate(redis.url, { keyStaleMaxS: 1 });
    const key = await addByHand(redis);
    await remember(gate, key);
    await redis.kill();
    await eventually(() => !gate.store.isAvailable, 900);
    expect(await gate.try(key)).toBe('in');
    await sleep(1_050);
    expect(await gate.try(key)).toBe('key-store-unreachable');
  });

  it('a key that is gone when Redis is back ends within a second', async () => {
    const redis = await startOwnRedis();
    const gate = await openGate(redis.url);
    const key = await addByHand(redis);
    await remember(gate, key);
    await redis.kill();
    await sleep(1_500);
    expect(await gate.try(key)).toBe('in');
    await redis.restart();
    await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_000);
  });

  it('a key that was revoked while the wire was cut ends within a second of its mending', async () => {
    const redis = await startOwnRedis();
    const { gate, proxy } = await openGateThroughProxy(redis);
    const [revoked, cached] = [await addByHand(redis), await addByHand(redis)];
    await remember(gate, revoked, cached);
    await proxy.cut();
    await revokeByHand(redis, revoked);
    await sleep(1_000);
    expect([await gate.try(revoked), await gate.try(cached)]).toEqual(['in', 'in']);
    await proxy.mend();
    await eventually(async () => (await gate.try(revoked)) === 'key-invalid', 1_000);
    expect(await gate.try(cached)).toBe('in');
  });

  it('no call waits more than a moment for a Redis that hangs, and all is well when it goes on', async () => {
    const redis = await startOwnRedis();
    const gate = await openGate(redis.url);
    const [seen, unseen] = [await addByHand(redis), await addByHand(redis)];
    await remember(gate, seen);
    redis.pause();
    const waits: number[] = [];
    const until = performance.now() + 2_500;
    while (performance.now() < until) {
      const start = performance.now();
      expect(gate.authenticator.authenticate(seen, address)).toMatchObject({ record: { name: 'alice' } });
      expect(await gate.try(unseen)).toBe('key-store-unreachable');
      waits.push(performance.now() - start);
      await sleep(10);
    }
    expect(Math.max(...waits)).toBeLessThan(700);
    // Only the calls before the first missed answer wait at all.
    expect(waits.filter((wait) => wait > 50).length).toBeLessThanOrEqual(2);
    redis.resume();
    await eventually(async () => (await gate.try(unseen)) === 'in', 1_000);
    await removeByHand(redis, seen);
    await eventually(async () => (await gate.try(seen)) === 'key-invalid', 1_000);
  });

  it('a gateway that starts without Redis lets keys in within a second of its coming', async () => {
    const port = await freePort();
    const gate = makeGate(new RedisKeyStore(`redis://127.0.0.1:${port}`, silent));
    const key = makeKey();
    expect(await gate.try(key)).toBe('key-store-unreachable');
    expect(await gate.try('nonsense')).toBe('key-invalid');
    await sleep(1_200);
    const redis = await startOwnRedis(port);
    await addByHand(redis, key);
    await eventually(async () => (await gate.try(key)) === 'in', 1_000);
  });
});

describe.concurrent('when only the connection that hears of changes is lost', () => {
  it('and known to be, a revoked key ends within a second', async () => {
    const redis = await startOwnRedis();
    const gate = await openGate(redis.url);
    const key = await addByHand(redis);
    await remember(gate, key);
    await redis.cli('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await removeByHand(redis, key);
    await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_000);
    await eventually(() => gate.store.freshForMs > 1_000, 1_000);
  });

  it('silently, a revoked key ends about a second after the loss', async () => {
    const redis = await startOwnRedis();
    const { gate, proxy, changesPort } = await openGateThroughProxy(redis);
    const key = await addByHand(redis);
    await remember(gate, key);
    proxy.holdReplies(changesPort);
    await removeByHand(redis, key);
    await eventually(async () => (await gate.try(key)) === 'key-invalid', 1_200);
    // And a new connection is made in place of the silent one.
    await eventually(() => gate.store.freshForMs > 1_000, 3_000);
  });

  it('because Redis refuses CLIENT TRACKING, a DEL by hand ends a key within about a second, revoking at once', async () => {
    const redis = await startOwnRedis();
    await redis.cli('ACL', 'SETUSER', 'managed', 'on', '>pass', '~*', '&*', '+@all', '-client|tracking');
    const gate = makeGate(new RedisKeyStore(redis.url.replace('//', '//managed:pass@'), silent));
    await gate.store.waitUntilReady(1_000);
    await sleep(50);
    const [deleted, revoked] = [await addByHand(redis), await addByHand(redis)];
    await remember(gate, deleted, revoked);
    await removeByHand(redis, deleted);
    await eventually(async () => (await gate.try(deleted)) === 'key-invalid', 1_050);
    expect(await gate.try(revoked)).toBe('in');
    const commandLine = await openGate(redis.url);
    await commandLine.store.revoke(keyIdOf(digestOf(revoked)));
    expect(await eventually(async () => (await gate.try(revoked)) === 'key-invalid', 1_000)).toBeLessThan(300);
  });
});
