import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { memoryIn, RedisMemoryWatch } from '../../gateway/redis/memory.ts';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { network, startGateway } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { simulateTime } from '../support/simulate-time.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

it('a gateway shows how full Redis is', async () => {
  await redis.cli('CONFIG', 'SET', 'maxmemory', '100mb');
  const gateway = await startGateway({ main: network(1, ['http://127.0.0.1:1']) }, { REDIS_URL: redis.url });
  onTestFinished(() => gateway.stop());
  const used = async (): Promise<number> =>
    (await readMetrics(gateway.address)).value('gatehouse_redis_memory_used_ratio') ?? 0;
  await eventually(async () => (await used()) > 0);
  expect(await used()).toBeLessThan(0.5);
});

it('it does not show zero if it is not known', async () => {
  await redis.cli('ACL', 'SETUSER', 'default', '-info');
  onTestFinished(async () => {
    await redis.cli('ACL', 'SETUSER', 'default', '+info');
  });
  const gateway = await startGateway({ main: network(1, ['http://127.0.0.1:1']) }, { REDIS_URL: redis.url });
  onTestFinished(() => gateway.stop());
  expect((await readMetrics(gateway.address)).value('gatehouse_redis_memory_used_ratio')).toBeUndefined();
});

describe('a policy with which Redis loses', () => {
  const time = simulateTime();

  it.each([
    ['noeviction', undefined],
    ['allkeys-lru', 'API keys'],
    ['volatile-ttl', 'limits and usage'],
  ])('something is in the log once a day: %s', async (policy, lost) => {
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', policy);
    const info = await redis.cli('INFO', 'memory');
    const lines: string[] = [];
    const write = (line: Buffer, _: string, done: () => void): void => {
      lines.push(String(line));
      done();
    };
    const log = pino({}, new Writable({ write }));
    const watch = new RedisMemoryWatch(
      () => Promise.resolve(memoryIn(info)),
      log,
      () => true,
    );
    await time().advance(2.5 * 86_400_000);
    watch.close();
    expect(lines).toHaveLength(lost === undefined ? 0 : 3);
    for (const line of lines)
      expect(line).toContain(`Redis evicts ${lost ?? ''} when its memory is full (maxmemory-policy ${policy})`);
  });
});
