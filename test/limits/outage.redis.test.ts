import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noLimits, rateOf } from '../../gateway/auth/permissions/key-limits.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import type { Limiter } from '../../gateway/limits/limiter.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import { silent } from '../auth/auth-setup.ts';
import { eventually } from '../support/eventually.ts';
import { impatient, patient } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { limited, storage } from './limited.ts';

async function ownRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  return redis;
}

it('while Redis hangs, the first call waits 100 ms for its limits, and later calls do not wait', async () => {
  const redis = await ownRedis();
  const limiter = openLimiter(readSettings({ REDIS_URL: redis.url }), silent);
  onTestFinished(() => limiter.close());
  await limiter.waitUntilReady(5_000);
  redis.pause();
  const limits = { ...noLimits('a'), isCharged: true, rate: { perSecond: 0.01, burst: 10 } };
  const charge = () => limiter.charge(limits, { units: 1, byMethod: new Map() });
  // A timer of ioredis, in real time.
  const startedAt = Date.now();
  expect(await charge()).toMatchObject({ shortage: undefined });
  // A timer may fire a millisecond early.
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(99);
  // An outcome instead of a promise: decided at once.
  for (let count = 0; count < 9; count++) expect(charge()).toMatchObject({ shortage: undefined });
  expect(charge()).toMatchObject({ shortage: { reason: 'rate-limit' } });
  redis.resume();
});

it('while Redis hangs, memory continues from its count', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url, ...impatient });
  await one.setPermissions({ rate: '0.01', burst: '12', daily: '1000' });
  for (let count = 0; count < 2; count++) expect((await one.send(storage)).status).toBe(200);
  redis.pause();
  for (let count = 0; count < 10; count++) expect((await one.send(storage)).status).toBe(200);
  // Two and ten make twelve.
  expect((await one.send(storage)).status).toBe(429);
  redis.resume();
});

it('after an outage Redis is charged once for the calls in between, in few round trips', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url });
  await one.setPermissions({ rate: '0.01', burst: '500' });
  await one.send(storage);
  const connections = async (): Promise<number> => (await redis.cli('CLIENT', 'LIST')).split('\n').length;
  const before = await connections();
  await redis.kill();
  await eventually(() => !one.gateway.gateway.keys.isAvailable);
  for (let count = 0; count < 20; count++) expect((await one.send(storage)).status).toBe(200);
  await redis.restart();
  // Redis lost the key: it is added again, as an operator would do.
  await eventually(() => one.gateway.gateway.keys.isAvailable);
  await redis.cli('HSET', 'gatehouse:key', one.digest, '{"name":"test","rate":"0.01","burst":"500"}');
  // The limiter is connected again, too.
  await eventually(async () => (await connections()) >= before);
  const sent = await Promise.all(Array.from({ length: 20 }, () => one.send(storage)));
  expect(sent.map(({ status }) => status)).toEqual(sent.map(() => 200));
  const limit = `gatehouse:limit:${one.id}`;
  const missing = async (): Promise<number> => Math.round(Number(await redis.cli('HGET', limit, 'missing')));
  // Some of the calls may have been sent before the limiter was connected: the next one charges for them, too.
  let more = 0;
  await eventually(async () => {
    more++;
    await one.send(storage);
    // One before the outage, which Redis lost, 20 during it, 20 after it.
    return (await missing()) === 41 + more;
  });
  const trips = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli('INFO', 'commandstats'))?.[1];
  expect(Number(trips)).toBeLessThan(20 + more);
});

describe.each(['empty', 'with its data'])('a Redis that returns %s', (returns) => {
  const limits = {
    ...noLimits('a'),
    isCharged: true,
    daily: 30,
    methodRates: new Map([['eth_a', { perSecond: 1e-3, burst: 1 }]]),
  };
  const charge = async (limiter: Limiter, byMethod = new Map<string, number>()): Promise<string> => {
    const { shortage } = await limiter.charge(limits, { units: 1, byMethod });
    return shortage?.reason ?? 'taken';
  };

  it('has the quotas that were used before, and without it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-outage-'));
    const args = ['--dir', folder, '--appendonly', returns === 'empty' ? 'no' : 'yes', '--appendfsync', 'always'];
    const redis = await startRedis({ args });
    const limiters = [0, 1].map(() => openLimiter(readSettings({ REDIS_URL: redis.url, ...patient }), silent));
    onTestFinished(async () => {
      await Promise.all(limiters.map((limiter) => limiter.close()));
      await redis.stop();
      rmSync(folder, { recursive: true });
    });
    const [one, two] = limiters as [Limiter, Limiter];
    await Promise.all(limiters.map((limiter) => limiter.waitUntilReady(5_000)));
    let taken = 0;
    const send = async (limiter: Limiter): Promise<void> => {
      if ((await charge(limiter)) === 'taken') taken++;
    };
    for (let count = 0; count < 9; count++) await Promise.all([send(one), send(two)]);
    expect(await charge(one, new Map([['eth_a', 1]]))).toBe('taken');
    await send(two);
    expect(taken).toBe(19);
    // Both know all units: else the one that connects first adds to a sum that lacks some.
    await eventually(async () => {
      await Promise.all(limiters.map(async (limiter) => limiter.charge(limits, { units: 0, byMethod: new Map() })));
      const quotas = await Promise.all(limiters.map((limiter) => limiter.quotas()));
      return quotas.flat().every(({ used }) => used === taken + 1);
    });
    await redis.kill();
    await eventually(async () => {
      const before = one.counts['without-redis'];
      await send(one);
      return one.counts['without-redis'] > before;
    });
    // Redis does not know these units, and `two` does not report any later charge.
    for (let count = 0; count < 4; count++) await send(two);
    await redis.restart();
    await Promise.all(limiters.map((limiter) => limiter.waitUntilReady(5_000)));
    // What Redis had before is there when the connections count as up, and 100 ms later what was served without it.
    await eventually(async () => Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed')) === taken + 1);
    expect(await charge(one, new Map([['eth_a', 1]]))).toBe('rate-limit');
    for (let count = 0; count < 60; count++) await send(one);
    // With the one for the method.
    expect(taken + 1).toBe(30);
    expect(await charge(two)).toBe('daily-quota');
    expect(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed')).toBe('30');
  });
});

it('a Redis that returns empty has the quota of a team, also if the last charge was by a key without one', async () => {
  const redis = await ownRedis();
  const limiter = openLimiter(readSettings({ REDIS_URL: redis.url, ...patient }), silent);
  onTestFinished(() => limiter.close());
  await limiter.waitUntilReady(5_000);
  const team = { ...noLimits('team:mixed'), isCharged: true };
  const [quota, rate] = [
    { ...team, daily: 30 },
    { ...team, rate: rateOf(100) },
  ];
  const unit = { units: 1, byMethod: new Map<string, number>() };
  for (const limits of [quota, rate]) expect((await limiter.charge(limits, unit)).shortage).toBeUndefined();
  await redis.restart();
  await eventually(async () => (await redis.cli('HGET', 'gatehouse:limit:team:mixed', 'dayUsed')) === '2');
  // Longer than until the end of the month.
  expect(Number(await redis.cli('PTTL', 'gatehouse:limit:team:mixed'))).toBeGreaterThan(31 * 86_400_000);
});

it('QUOTAS_WITHOUT_REDIS=closed rejects calls of keys with a quota while Redis is unavailable, and counts them', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url, QUOTAS_WITHOUT_REDIS: 'closed' });
  await one.setPermissions({ daily: '1000' });
  expect((await one.send(storage)).status).toBe(200);
  await redis.kill();
  await eventually(() => !one.gateway.gateway.keys.isAvailable);
  const rejected = await one.send(storage);
  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '01']);
  expect(rejected.body).toMatchObject({
    error: { code: -32603, message: 'the quota cannot be checked at the moment' },
  });
  // It costs a tenth of a unit.
  expect((await one.send(['eth_chainId'])).status).toBe(503);
  const text = await (await fetch(`${one.gateway.address}/metrics`)).text();
  expect(text).toContain('gatehouse_limit_checks_total{outcome="quota-unreachable"} 2');
});

it('by default quotas are counted in memory while Redis is unavailable', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url });
  await one.setPermissions({ daily: '3' });
  expect((await one.send(storage)).status).toBe(200);
  await redis.kill();
  await eventually(() => !one.gateway.gateway.keys.isAvailable);
  const statuses = [];
  for (let count = 0; count < 3; count++) statuses.push((await one.send(storage)).status);
  expect(statuses).toEqual([200, 200, 429]);
});

it('if Redis rejects charges, limits are counted in memory', async () => {
  const redis = await ownRedis();
  await redis.cli('ACL', 'SETUSER', 'gateway', 'on', '>pass', '~*', '&*', '+@all');
  const one = await limited({ REDIS_URL: redis.url.replace('//', '//gateway:pass@') });
  // After the start, which rejects a user without these rights.
  await redis.cli('ACL', 'SETUSER', 'gateway', 'resetkeys', '~gatehouse:key');
  await one.setPermissions({ rate: '0.01', burst: '2' });
  const statuses = [];
  for (let count = 0; count < 3; count++) statuses.push((await one.send(storage)).status);
  expect(statuses).toEqual([200, 200, 429]);
});
