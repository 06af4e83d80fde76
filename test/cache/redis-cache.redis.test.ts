import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import type { MethodCache } from '../../gateway/cache/method-cache.ts';
import { openDurableCache } from '../../gateway/cache/open-durable-cache.ts';
import { RedisCache } from '../../gateway/cache/redis-cache.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { openLog } from '../../gateway/config/log.ts';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { RedisLink } from '../../gateway/redis/link.ts';
import { parseRedisUrl } from '../../gateway/redis/url.ts';
import type { UpstreamResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status } from '../support/behaviours.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { account, callThroughCache, followCache, receiptIn, responseOf } from './follow-cache.ts';

const atFinal = [account, '0x0', '0x64'];
const word = `0x${'7'.repeat(64)}`;
const noUpstream = (): Promise<UpstreamResponse> => Promise.reject(new Error('the test expects no upstream request'));

let redis: RedisServer;
let outcomes: Record<string, number>;

beforeEach(async () => {
  redis = await startRedis();
  outcomes = {};
  onTestFinished(() => redis.stop());
});

function count(outcome: string): void {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
}

/** Opens the cache of one gateway. @param maxWaitMs long by default, because the test machine may be slow */
async function openCache(maxWaitMs = 10_000): Promise<RedisCache> {
  const link = new RedisLink({ purpose: 'cache', address: parseRedisUrl(redis.url), log: openLog('silent') });
  const redisCache = new RedisCache(link, count, maxWaitMs);
  onTestFinished(() => redisCache.close());
  // The cache does not wait for Redis at start.
  await eventually(async () => {
    await redisCache.get('nothing');
    return outcomes['miss'] !== undefined;
  });
  outcomes = {};
  return redisCache;
}

async function openTwo() {
  const chain = new ScriptedChain({ from: 100 });
  const one = await followCache({ finalized: 100, durable: await openCache(), chain });
  const other = await followCache({ finalized: 100, durable: await openCache(), chain: chain.copy() });
  return { one, other };
}

const written = (count = 1): Promise<number> => eventually(() => outcomes['written'] === count);

it('a permanently valid result of one gateway is a hit in another', async () => {
  const { one, other } = await openTwo();
  one.store('eth_getStorageAt', atFinal, word);
  await written();
  const cache = other.cacheOf('eth_getStorageAt');
  expect(await callThroughCache(cache, atFinal, noUpstream)).toEqual({ kind: 'cached', result: JSON.stringify(word) });
  // The second gateway has it in memory now.
  expect(cache.find(cache.keyOf(JSON.stringify(atFinal)))?.result).toBe(JSON.stringify(word));
  expect(other.counted).toEqual({ hit: 1, disk: 0, redis: 1, miss: 0 });
  const [name = ''] = (await redis.cli('KEYS', 'gatehouse:answer:*')).split('\n');
  expect(name).toMatch(/^gatehouse:answer:\d+\.\d+\.\d+:test:7:[\da-f-]{36}:eth_getStorageAt:[\w-]{43}$/);
  expect(Number(await redis.cli('TTL', name))).toBeGreaterThan(3_600);
});

it('results are shared only once their block is final', async () => {
  const { one } = await openTwo();
  await one.waitForHead(one.chain.mine());
  const block = one.chain.head;
  const { find, first } = one.store('eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`], receiptIn(block));
  one.store('eth_getBalance', [account, 'latest'], '0x5');
  one.store('eth_getBlockByHash', [`0x${'00'.repeat(32)}`, false], null);
  expect(first).toContain(block.hash);
  expect(outcomes).toEqual({});
  expect(await one.finalise(block)).toBe(true);
  expect(find()).toBe(first);
  await written();
  expect((await redis.cli('KEYS', 'gatehouse:answer:*')).split('\n')).toHaveLength(1);
});

it('Redis is not read for results at the head or at blocks that are not final', async () => {
  const { one } = await openTwo();
  const request = (): Promise<UpstreamResponse> => Promise.resolve(responseOf('0x5'));
  for (const block of ['latest', 'pending', '0x65'])
    await callThroughCache(one.cacheOf('eth_getBalance'), [account, block], request);
  expect(outcomes).toEqual({});
  await callThroughCache(one.cacheOf('eth_getBlockByHash'), [`0x${'01'.repeat(32)}`, false], () =>
    Promise.resolve(responseOf(null)),
  );
  expect(outcomes).toEqual({ miss: 1 });
});

describe('the record of the chain in Redis', () => {
  const request = (): Promise<UpstreamResponse> => Promise.resolve(responseOf('0x5'));
  const result = async (cache: MethodCache): Promise<unknown> => {
    const response = await callThroughCache(cache, atFinal, request);
    return response.kind === 'cached' ? response.result : response;
  };

  it('is compared with the upstreams before an entry is used: until then, and on another chain, there is none', async () => {
    const one = await followCache({ finalized: 100, durable: await openCache() });
    one.store('eth_getStorageAt', atFinal, word);
    await written();
    // A gateway that starts after the node was wiped; its number 100 is another block.
    const other = await followCache({ durable: await openCache() });
    expect(await result(other.cacheOf('eth_getStorageAt'))).toEqual(responseOf('0x5'));
    expect(await other.finalise(other.chain.head)).toBe(true);
    expect(await result(other.cacheOf('eth_getStorageAt'))).toBe('"0x5"');
    await written();
    expect(outcomes['found']).toBeUndefined();
    // A third one, on the same chain as the second.
    const third = await followCache({ durable: await openCache(), chain: other.chain.copy() });
    expect(third.final.sharedId(clock.now())).toBeUndefined();
    await eventually(() => third.final.sharedId(clock.now()) !== undefined);
    expect(await third.finalise(third.chain.head)).toBe(true);
    expect(await result(third.cacheOf('eth_getStorageAt'))).toBe('"0x5"');
    expect(third.counted).toEqual({ hit: 0, disk: 0, redis: 1, miss: 0 });
  });

  it('has a new id after the entries are dropped, which other gateways use too', async () => {
    const { one, other } = await openTwo();
    one.store('eth_getStorageAt', atFinal, word);
    await written();
    one.final.drop();
    expect(await one.finalise(one.chain.head)).toBe(true);
    expect(await result(one.cacheOf('eth_getStorageAt'))).toBe('"0x5"');
    const id = one.final.sharedId(clock.now());
    expect(other.final.sharedId(clock.now())).not.toBe(id);
    await other.finalise(other.chain.head);
    await eventually(() => other.final.sharedId(clock.now()) === id);
  });
});

it('large results are gzipped', async () => {
  const { one, other } = await openTwo();
  // Older than both known chains: within a known chain, another block of the same number is on another branch.
  const old = { ...one.chain.head, hash: `0x${'ef'.repeat(32)}`, number: '0x5' };
  const block = Buffer.from(JSON.stringify({ ...old, extraData: `0x${'5'.repeat(100_000)}` }));
  const params = [old.hash, false];
  one.store('eth_getBlockByHash', params, block);
  await written();
  const [name = ''] = (await redis.cli('KEYS', 'gatehouse:answer:*')).split('\n');
  expect(Number(await redis.cli('STRLEN', name))).toBeLessThan(2_000);
  expect(await redis.cli('GETRANGE', name, '0', '0')).not.toBe('{');
  expect(await callThroughCache(other.cacheOf('eth_getBlockByHash'), params, noUpstream)).toEqual({
    kind: 'cached',
    result: block,
  });
});

it('a shared block is not used if the canonical chain has another block of its number', async () => {
  const { one, other } = await openTwo();
  // Before the other gateway compares the record again.
  for (const { chain, waitForHead } of [one, other]) await waitForHead(chain.mine());
  expect(other.chain.head.hash).not.toBe(one.chain.head.hash);
  const params = [one.chain.head.hash, false];
  expect(await one.finalise(one.chain.head)).toBe(true);
  one.store('eth_getBlockByHash', params, one.chain.head);
  await written();
  const fresh = responseOf(null);
  expect(await callThroughCache(other.cacheOf('eth_getBlockByHash'), params, () => Promise.resolve(fresh))).toBe(fresh);
});

it.each([
  ['an empty value', ''],
  ['invalid JSON', '0x5'],
  ['an uncompressed large value', `"${'x'.repeat(12_000)}"`],
  ['invalid gzip data', '\u001f\u008b'],
])('%s in Redis is ignored and replaced', async (_, text) => {
  const { one, other } = await openTwo();
  one.store('eth_getStorageAt', atFinal, word);
  await written();
  const [name = ''] = (await redis.cli('KEYS', 'gatehouse:answer:*')).split('\n');
  await redis.cli('SET', name, text);
  const request = (): Promise<UpstreamResponse> => Promise.resolve(responseOf('0x5'));
  expect(await callThroughCache(other.cacheOf('eth_getStorageAt'), atFinal, request)).toEqual({
    kind: 'cached',
    result: '"0x5"',
  });
  // It is written again, because Redis itself works.
  await written(2);
  expect(outcomes).toMatchObject({ miss: 1 });
});

it('calls do not wait for a Redis that hangs or is unreachable, and use it again once it responds', async () => {
  const { cacheOf } = await followCache({ finalized: 100, durable: await openCache(20) });
  const request = (): Promise<UpstreamResponse> => Promise.resolve(responseOf('0x5'));
  let slot = 0;
  const call = async (): Promise<void> => {
    const response = await callThroughCache(cacheOf('eth_getStorageAt'), [account, `0x${slot++}`, '0x64'], request);
    expect(response).toEqual({ kind: 'cached', result: '"0x5"' });
  };
  redis.pause();
  for (let calls = 0; calls < 8; calls++) await call();
  // Only the first of the eight calls waits.
  expect(outcomes).toMatchObject({ late: 1, 'not-requested': 7 });
  redis.resume();
  await eventually(async () => {
    await call();
    return outcomes['miss'] !== undefined;
  });
  await redis.kill();
  await call();
});

it('the error about a malformed URL names the setting and does not show the URL', () => {
  const settings = readSettings({ CACHE_REDIS_URL: 'redis//me:secret@host' });
  const open = (): unknown => openDurableCache(settings, new Metrics(), openLog('silent'));
  expect(open).toThrow(/^CACHE_REDIS_URL: expected redis:/);
  expect(open).not.toThrow(/secret/);
});

it('between two real gateways a key without permission gets no shared result, and Redis contains no key', async () => {
  const chain = new ScriptedChain({ from: 100 });
  const nodes = await Promise.all(
    [0, 1].map(() => startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } })),
  );
  for (const node of nodes) {
    node.response('eth_getBlockByNumber', ([which]: [string]) =>
      chain.byNumber(which === 'finalized' ? '0x64' : which),
    );
  }
  const env = { CACHE_MAX_BYTES: '1000000', CACHE_REDIS_URL: redis.url };
  const [one, other] = (await Promise.all(
    nodes.map((node) => startGateway({ main: network(5, [node.url]) }, env)),
  )) as [TestGateway, TestGateway];
  onTestFinished(async () => {
    await Promise.all([one.stop(), other.stop()]);
    await Promise.all(nodes.map((node) => node.close()));
  });
  await share(other);
  const slots = await share(one);
  nodes[1]?.always(status(500));
  const key = makeKey();
  const permissions = { contracts: `0x${'34'.repeat(20)}` };
  await other.gateway.keys.add(digestOf(key), { name: 'bob', createdAt: new Date().toISOString(), permissions });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: atFinal });
  const rejected = await fetch(`${other.address}/main/v3/${key}`, { method: 'POST', body });
  expect([rejected.status, await rejected.text()]).toEqual([403, expect.stringContaining('project ID settings')]);
  // From Redis, unless Redis timed out.
  const results = slots.map((slot) => () => other.call('main', 'eth_getStorageAt', [account, slot, '0x64']));
  await eventually(async () => {
    for (const result of results) if ((await result()).result === word) return true;
    return false;
  });
  const { value } = await readMetrics(other.address);
  expect(value('gatehouse_cache_lookups_total', { method: 'eth_getStorageAt', outcome: 'redis' })).toBe(1);
  expect(value('gatehouse_cache_durable_operations_total', { outcome: 'found' })).toBe(1);
  const names = await redis.cli('KEYS', '*');
  for (const secret of [one.key, other.key, key]) {
    expect(names).not.toContain(secret);
    expect(names).not.toContain(digestOf(secret));
  }
});

/** Calls for state at a final block until the gateway shares it: then the record of the chain is checked. @returns the slots */
async function share(gateway: TestGateway): Promise<string[]> {
  const before = await sharedEntries();
  const slots: string[] = [];
  const first = parseInt(gateway.key.slice(-6), 36);
  await eventually(async () => {
    const slot = `0x${(first + slots.length).toString(16)}`;
    slots.push(slot);
    await gateway.call('main', 'eth_getStorageAt', [account, slot, '0x64']);
    return (await sharedEntries()) > before;
  });
  return slots;
}

async function sharedEntries(): Promise<number> {
  return (await redis.cli('KEYS', 'gatehouse:answer:*')).split('\n').filter(Boolean).length;
}
