import { expect, it, onTestFinished } from 'vitest';
import { noLimits, rateOf, type KeyLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import type { Limiter } from '../../gateway/limits/limiter.ts';
import { serveSums } from '../../gateway/limits/machine-sums.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import { openRedisSums, type RedisSums } from '../../gateway/limits/redis-sums.ts';
import { silent } from '../auth/auth-setup.ts';
import { eventually } from '../support/eventually.ts';
import { patient } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { linkedWorkers, type LinkedWorkers } from '../workers/linked-workers.ts';

interface Machine {
  readonly workers: LinkedWorkers;
  readonly limiters: readonly Limiter[];
}

/** Opens the limiters of the workers of one machine, whose primary has the sums in Redis. */
async function openMachine(redis: RedisServer, count: number): Promise<Machine> {
  const { workers, links } = await linkedWorkers(count);
  const settings = readSettings({ REDIS_URL: redis.url, ...patient });
  let opened: RedisSums | undefined;
  serveSums(
    workers.router,
    (events) => (opened = openRedisSums(redis.url, settings.LIMITS_TIMEOUT_MS, silent, events)),
  );
  onTestFinished(() => opened?.link.close());
  const limiters = links.map((link) => openLimiter(settings, silent, link));
  await Promise.all(limiters.map((limiter) => limiter.waitUntilReady(5_000)));
  return { workers, limiters };
}

async function ownRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  return redis;
}

const limitsOf = (limits: Partial<KeyLimits>): KeyLimits => ({ ...noLimits('a'), isCharged: true, ...limits });

async function charge(limiter: Limiter, limits: KeyLimits, units = 1): Promise<string> {
  const { shortage } = await limiter.charge(limits, { units, byMethod: new Map() });
  return shortage?.reason ?? 'taken';
}

it('the workers of two machines use a quota up to the last unit, with one connection per machine', async () => {
  const redis = await ownRedis();
  const machines = [await openMachine(redis, 2), await openMachine(redis, 2)];
  const limits = limitsOf({ daily: 60 });
  const all = machines.flatMap(({ limiters }) => limiters);
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, at) => charge(all[at % 4] as Limiter, limits)));
  expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(60);
  expect(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed')).toBe('60');
  expect(all.map(({ counts }) => counts.redis > 0)).toEqual([true, true, true, true]);
  // Its own connection, which lists them, is the third one.
  await expect
    .poll(async () => (await redis.cli('CLIENT', 'LIST', 'TYPE', 'normal')).trim().split('\n'))
    .toHaveLength(2 + 1);
});

it('a Redis that returns empty has the quota that each worker knows, and what was used without it', async () => {
  const redis = await ownRedis();
  const { limiters } = await openMachine(redis, 2);
  const [one, two] = limiters as [Limiter, Limiter];
  const limits = limitsOf({ daily: 30 });
  for (let count = 0; count < 5; count++) for (const each of limiters) expect(await charge(each, limits)).toBe('taken');
  await redis.kill();
  let unshared = 0;
  await eventually(async () => {
    expect(await charge(one, limits)).toBe('taken');
    unshared++;
    return one.counts['without-redis'] > 0;
  });
  await redis.restart();
  await Promise.all(limiters.map((limiter) => limiter.waitUntilReady(5_000)));
  await eventually(async () => Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed')) === 10 + unshared);
  for (let count = 10 + unshared; count < 30; count++) expect(await charge(two, limits)).toBe('taken');
  expect([await charge(two, limits), await charge(one, limits)]).toEqual(['daily-quota', 'daily-quota']);
});

it('the quota of a key while Redis is unavailable is an error with its cause', async () => {
  const redis = await ownRedis();
  const { limiters } = await openMachine(redis, 1);
  const [one] = limiters as [Limiter];
  await redis.kill();
  await expect(one.readQuotas(limitsOf({ daily: 30 }))).rejects.toMatchObject({ name: 'StoreUnreachable' });
  await eventually(async () => {
    await charge(one, limitsOf({ rate: rateOf(10) }));
    return one.counts['without-redis'] > 0;
  });
});

it('a worker that ends leaves what it has exchanged, and the others go on', async () => {
  const redis = await ownRedis();
  const { workers, limiters } = await openMachine(redis, 2);
  const [one, two] = limiters as [Limiter, Limiter];
  const limits = limitsOf({ daily: 20 });
  for (let count = 0; count < 8; count++) expect(await charge(one, limits)).toBe('taken');
  workers.end(1);
  for (let count = 0; count < 12; count++) expect(await charge(two, limits)).toBe('taken');
  expect(await charge(two, limits)).toBe('daily-quota');
});
