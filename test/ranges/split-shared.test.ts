import { expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis } from '../support/redis.ts';
import { LogChain } from './log-chain.ts';
import { responseWith, untilFinal, withLogNodes } from './with-log-nodes.ts';

it('final parts of one gateway are hits in another one, by the shared cache', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const chain = new LogChain(10_000, () => 1, 4_999);
  const env = { CACHE_REDIS_URL: redis.url };
  const limits = [{ maxBlocks: 1_000 }];
  const [one, other] = [await withLogNodes(chain, limits, {}, env), await withLogNodes(chain, limits, {}, env)];
  for (const gateway of [one, other]) await untilFinal(gateway);
  let filters = 0;
  // A gateway shares entries once it has compared the record of the chain, and does not wait for a late Redis.
  await eventually(async () => {
    const filter = { topics: [`0x${(++filters).toString(16).padStart(64, '0')}`] };
    for (const { getLogs } of [one, other])
      expect((await getLogs(0, 6_999, filter)).text).toBe(responseWith(chain.logs(0, 6_999)));
    const { value } = await readMetrics(other.gateway.address);
    console.log(filters, ...[one, other].map(async g => { const m = await readMetrics(g.gateway.address); return JSON.stringify(Object.fromEntries(['found','miss','late','failed','not-requested','written','not-written'].map(o => [o, m.value('gatehouse_cache_redis_operations_total', { outcome: o })]))) }).map(p => p) && await Promise.all([one, other].map(async g => { const m = await readMetrics(g.gateway.address); return JSON.stringify(Object.fromEntries(['found','miss','late','failed','not-requested','written','not-written'].map(o => [o, m.value('gatehouse_cache_redis_operations_total', { outcome: o })]))) })));
    return (value('gatehouse_cache_lookups_total', { method: 'eth_getLogs', outcome: 'redis' }) ?? 0) >= 5;
  });
  const requests = other.ranges().flat();
  expect(requests.filter(([from = 0]) => from < 5_000).length, 'not those of Redis').toBeLessThan(5 * filters);
});
