import { expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { RedisCache } from '../../gateway/cache/redis-cache.ts';
import { openLog } from '../../gateway/config/log.ts';
import { PartCache } from '../../gateway/ranges/part-cache.ts';
import { readRangeFilter, type RangeFilter } from '../../gateway/ranges/range-filter.ts';
import { RedisLink } from '../../gateway/redis/link.ts';
import { parseRedisUrl } from '../../gateway/redis/url.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { followCache } from '../cache/follow-cache.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { startRedis } from '../support/redis.ts';
import { contracts, LogChain } from './log-chain.ts';
import { untilFinal, withLogNodes } from './with-log-nodes.ts';

const logs = methods.find(({ name }) => name === 'eth_getLogs');
const range = { from: 0, to: 9 };
const elements = Buffer.from('{"logIndex":"0x0"},{"logIndex":"0x1"}');

function filterOf(address: string | undefined): RangeFilter {
  const filter = logs && readRangeFilter(logs, [{ fromBlock: '0x0', toBlock: '0x9', address }]);
  if (filter === undefined) throw new Error('the filter has no range');
  return filter;
}

/** The part caches of two gateways with the same chain and one Redis. */
async function withTwoGateways() {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  let written = 0;
  const chain = new ScriptedChain({ from: 100 });
  const openGateway = async (ofGateway: ScriptedChain) => {
    let isUp = false;
    const link = new RedisLink({ purpose: 'cache', address: parseRedisUrl(redis.url), log: openLog('silent') });
    const count = (outcome: string): void => {
      if (outcome === 'written') written++;
      isUp ||= outcome === 'miss';
    };
    // A busy machine may be slow.
    const redisCache = new RedisCache(link, count, 2_000);
    onTestFinished(() => redisCache.close());
    await eventually(async () => {
      await redisCache.get('nothing');
      return isUp;
    });
    const { final, responses } = await followCache({ finalized: 100, durable: redisCache, chain: ofGateway });
    const counted: string[] = [];
    const parts = new PartCache({
      ...{ cache: responses, durable: redisCache, final, network: 'test:7', method: 'eth_getLogs' },
      count: (outcome) => counted.push(outcome),
    });
    const inMemory = (filter: RangeFilter) => parts.findAtStart(filter, { from: 0, to: 50 }, clock.now());
    return { parts, counted, final, inMemory };
  };
  const one = await openGateway(chain);
  const other = await openGateway(chain.copy());
  return { redis, one, other, written: () => written };
}

it('a final part of one gateway is found by another one, in Redis and then in its memory', async () => {
  const { redis, one, other, written } = await withTwoGateways();
  const filter = filterOf(contracts[0]);
  one.parts.store(filter, range, elements);
  expect(one.inMemory(filter)).toEqual({ to: 9, elements });
  await eventually(() => written() === 1);
  expect(other.inMemory(filter)).toBeUndefined();
  expect(await other.parts.findDurable(filter, range)).toEqual({ to: 9, elements });
  expect(other.inMemory(filter)).toEqual({ to: 9, elements });
  expect(await other.parts.findDurable(filterOf(contracts[1]), range)).toBeUndefined();
  expect(await other.parts.findDurable(filter, { from: 0, to: 4 })).toBeUndefined();
  expect([one.counted, other.counted]).toEqual([['hit'], ['redis', 'hit', 'miss', 'miss']]);
  const [key = ''] = (await redis.cli('KEYS', 'gatehouse:answer:*')).trim().split('\n');
  expect(key).toMatch(/:test:7:[0-9a-f-]{36}:eth_getLogs:[\w-]{43}$/);
  expect((await redis.cli('GET', key)).trim()).toBe(`[${elements.toString()}]`);
});

it('parts of another chain and empty lists are not found', async () => {
  const { one, other, written } = await withTwoGateways();
  const filter = filterOf(undefined);
  one.parts.store(filter, { from: 10, to: 19 }, Buffer.from(''));
  one.parts.store(filter, range, elements);
  await eventually(() => written() === 1);
  expect(await other.parts.findDurable(filter, { from: 10, to: 19 })).toBeUndefined();
  one.final.drop();
  other.final.drop();
  expect(one.inMemory(filter)).toBeUndefined();
  expect(await other.parts.findDurable(filter, range)).toBeUndefined();
});

it('a gateway with CACHE_REDIS_URL writes final parts to it', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const chain = new LogChain(4_000, () => 1, 2_999);
  const gateway = await withLogNodes(chain, [{ maxBlocks: 1_000 }], {}, { CACHE_REDIS_URL: redis.url });
  await untilFinal(gateway);
  let filters = 0;
  // It writes once it has compared the record of the chain, and not for 1 s after a late response of Redis.
  await eventually(async () => {
    await gateway.getLogs(0, 1_999, { address: [...contracts, `0x${String(++filters).padStart(40, '0')}`] });
    return (await redis.cli('KEYS', 'gatehouse:answer:*:test:7:*:eth_getLogs:*')).includes('eth_getLogs');
  });
});
