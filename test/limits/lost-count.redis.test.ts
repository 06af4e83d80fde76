import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { noLimits } from '../../gateway/auth/permissions/key-limits.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import type { Limiter } from '../../gateway/limits/limiter.ts';
import { openLimiter } from '../../gateway/limits/open-limiter.ts';
import { silent } from '../auth/auth-setup.ts';
import { startTcpProxy } from '../auth/tcp-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { impatient, patient } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';

const unit = { units: 1, byMethod: new Map<string, number>() };
const limits = { ...noLimits('a'), isCharged: true, daily: 30 };
const open = (url: string, more = patient): Limiter => openLimiter(readSettings({ REDIS_URL: url, ...more }), silent);

it('a quota holds if Redis returns with a part of the count, but for calls that were served without it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-snapshot-'));
  const redis = await startRedis({ args: ['--dir', folder] });
  const limiters = [open(redis.url), open(redis.url)] as const;
  const [one, two] = limiters;
  onTestFinished(async () => {
    await Promise.all([one.close(), two.close()]);
    await redis.stop();
    rmSync(folder, { recursive: true });
  });
  const charge = async (limiter: Limiter, times: number): Promise<number> => {
    let taken = 0;
    for (let count = 0; count < times; count++)
      if ((await limiter.charge(limits, unit)).shortage === undefined) taken++;
    return taken;
  };
  const used = async (): Promise<number> => Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed'));
  for (const limiter of limiters) await limiter.waitUntilReady(5_000);
  await charge(one, 2);
  await redis.cli('SAVE');
  // One gateway knows 5 units, the other one 9.
  let served = 2 + (await charge(one, 3)) + (await charge(two, 4));
  await eventually(async () => (await used()) === served);
  await redis.kill();
  await eventually(async () => {
    served += await charge(one, 1);
    return one.counts['without-redis'] > 4;
  });
  const alone = served - 9;
  // The snapshot has 2 units.
  await redis.restart();
  for (const limiter of limiters) await limiter.waitUntilReady(5_000);
  expect(await used()).toBeGreaterThanOrEqual(served - alone);
  // Redis returns with its data: nothing is added twice.
  await redis.cli('SAVE');
  await redis.restart();
  // Both limiters and redis-cli.
  await eventually(async () => (await redis.cli('CLIENT', 'LIST')).split('\n').length === 3);
  for (const limiter of limiters) await limiter.waitUntilReady(5_000);
  expect(await used()).toBeLessThanOrEqual(served);
  served += (await charge(one, 40)) + (await charge(two, 40));
  expect(served).toBeGreaterThanOrEqual(30);
  expect(served).toBeLessThanOrEqual(30 + alone);
});

it('what a gateway has served is counted at least once, also if the response of Redis is lost', async () => {
  const redis = await startRedis();
  const proxy = await startTcpProxy(redis.port);
  const limiter = open(`redis://127.0.0.1:${proxy.port}`, impatient);
  onTestFinished(async () => {
    await proxy.close();
    await redis.stop();
  });
  await limiter.waitUntilReady(5_000);
  const many = { ...limits, daily: 1e9 };
  let served = 0;
  const charge = async (): Promise<void> => {
    if ((await limiter.charge(many, unit)).shortage === undefined) served++;
  };
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 20 }, charge));
  const port = /addr=\S+:(\d+) (?!.*cmd=client)/.exec(await redis.cli('CLIENT', 'LIST'))?.[1];
  proxy.holdResponses(Number(port));
  await eventually(async () => {
    await charge();
    return limiter.counts['without-redis'] > 0;
  });
  proxy.release();
  await limiter.waitUntilReady(5_000);
  await limiter.close();
  expect(Number(await redis.cli('HGET', 'gatehouse:limit:a', 'dayUsed'))).toBeGreaterThanOrEqual(served);
});

it('a rejection by Redis never has units left', async () => {
  const redis = await startRedis();
  const limiter = open(redis.url);
  onTestFinished(async () => {
    await limiter.close();
    await redis.stop();
  });
  await limiter.waitUntilReady(5_000);
  // A unit returns in less time than a round trip takes.
  const rated = { ...noLimits('b'), isCharged: true, rate: { perSecond: 20_000, burst: 2 } };
  const outcomes = [];
  for (let round = 0; round < 10; round++)
    outcomes.push(...(await Promise.all(Array.from({ length: 20 }, async () => limiter.charge(rated, unit)))));
  const rejected = outcomes.filter(({ shortage }) => shortage !== undefined);
  expect(rejected.length).toBeGreaterThan(0);
  expect(rejected.filter(({ allowance }) => allowance?.remaining !== 0)).toEqual([]);
});
