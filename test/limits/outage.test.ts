import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../auth/eventually.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { limited, storage } from './limited.ts';

async function ownRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  return redis;
}

it('when Redis hangs, limits go on from memory within 100 ms of the first failure, and nothing waits after it', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url });
  await one.setPermissions({ rate: '0.01', burst: '12', daily: '1000' });
  for (let count = 0; count < 2; count++) expect((await one.send(storage)).status).toBe(200);
  redis.pause();
  const started = performance.now();
  expect((await one.send(storage)).status).toBe(200);
  expect(performance.now() - started).toBeLessThan(180);
  for (let count = 0; count < 9; count++) {
    const before = performance.now();
    expect((await one.send(storage)).status).toBe(200);
    expect(performance.now() - before).toBeLessThan(60);
  }
  // It goes on from where Redis was: two and ten make twelve.
  expect((await one.send(storage)).status).toBe(429);
  redis.resume();
});

it('when Redis is back, it is told what was used meanwhile, once, and is not stormed', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url });
  await one.setPermissions({ rate: '0.01', burst: '50' });
  await one.send(storage);
  await redis.kill();
  await sleep(300);
  for (let count = 0; count < 20; count++) expect((await one.send(storage)).status).toBe(200);
  await redis.restart();
  // The key was lost with the Redis: it is made again, as an operator would.
  await eventually(() => one.gateway.gateway.keys.isAvailable, 3_000);
  await redis.cli('HSET', `gatehouse:key:${one.digest}`, 'name', 'test', 'rate', '0.01', 'burst', '50');
  await sleep(700);
  const sent = await Promise.all(Array.from({ length: 20 }, () => one.send(storage)));
  expect(sent.map(({ status }) => status)).toEqual(sent.map(() => 200));
  const limit = `gatehouse:limit:${one.id}`;
  const missing = (Number(await redis.cli('HGET', limit, 'fullAt')) - Date.now()) / 100_000;
  expect(Math.round(missing)).toBe(40);
  const trips = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli('INFO', 'commandstats'))?.[1];
  expect(Number(trips)).toBeLessThan(20);
});

it('keys with a quota are refused while Redis is away where that is chosen, and it is counted; others go on', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url, QUOTAS_WITHOUT_REDIS: 'closed' });
  await one.setPermissions({ daily: '1000' });
  expect((await one.send(storage)).status).toBe(200);
  await redis.kill();
  await sleep(300);
  const rejected = await one.send(storage);
  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '01']);
  expect(rejected.body).toMatchObject({
    error: { code: -32603, message: 'the quota cannot be checked at the moment' },
  });
  expect((await one.send(['eth_chainId'])).status).toBe(200);
  const text = await (await fetch(`${one.gateway.address}/metrics`)).text();
  expect(text).toContain('gatehouse_limit_checks_total{outcome="quota-unreachable"} 1');
});

it('a quota goes on from memory while Redis is away, by default', async () => {
  const redis = await ownRedis();
  const one = await limited({ REDIS_URL: redis.url });
  await one.setPermissions({ daily: '3' });
  expect((await one.send(storage)).status).toBe(200);
  await redis.kill();
  await sleep(300);
  const statuses = [];
  for (let count = 0; count < 3; count++) statuses.push((await one.send(storage)).status);
  expect(statuses).toEqual([200, 200, 429]);
});

it('a Redis that refuses to count is told of once, and limits go on from memory', async () => {
  const redis = await ownRedis();
  await redis.cli('ACL', 'SETUSER', 'gateway', 'on', '>pass', '~gatehouse:key:*', '&*', '+@all');
  const one = await limited({ REDIS_URL: redis.url.replace('//', '//gateway:pass@') });
  await one.setPermissions({ rate: '0.01', burst: '2' });
  const statuses = [];
  for (let count = 0; count < 3; count++) statuses.push((await one.send(storage)).status);
  expect(statuses).toEqual([200, 200, 429]);
});
