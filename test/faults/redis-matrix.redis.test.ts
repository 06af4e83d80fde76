import { putKeyByHand } from '../support/redis-keys.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { makeKey } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { impatient, network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { CHAIN_ID, goodResponses } from './bad-upstream.ts';
import { redisRowOf, writeTable, type RedisRow } from './fault-table.ts';
import { storage } from './faults.ts';
import { redisFaults, type BadRedis } from './redis-faults.ts';

/** Includes a failover by a Sentinel, which first waits for its timeouts. */
const MAX_RECOVERY_MS = 40_000;

const rows: RedisRow[] = [];
let node: FakeNode;

beforeAll(async () => {
  node = await startFakeNode({ chainId: CHAIN_ID, responses: goodResponses });
});
afterAll(async () => {
  await node.close();
  if (process.env['WRITE_DOCS'] === 'yes') writeTable('docs/measured/faults.md', 'redis', rows.map(redisRowOf));
});

async function send(
  gateway: TestGateway,
  key: string,
): Promise<{ status: number; response: JsonRpcResponse; ms: number }> {
  const startedAt = clock.now();
  const { method, params } = storage;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'x', method, params });
  const httpResponse = await fetch(`${gateway.address}/main/v3/${key}`, { method: 'POST', body });
  const response = (await httpResponse.json()) as JsonRpcResponse;
  return { status: httpResponse.status, response, ms: clock.now() - startedAt };
}

async function addKey(redis: BadRedis, limits: object = {}): Promise<string> {
  const key = makeKey();
  await putKeyByHand(redis.primary, key, { name: 'test', createdAt: new Date().toISOString(), ...limits });
  return key;
}

const correct = { status: 200, response: { id: 'x', result: storage.result } };
const unchecked = {
  status: 503,
  response: { error: { code: -32603, message: 'the key cannot be checked at the moment' } },
};

describe.each(redisFaults)('$name', ({ name, open }) => {
  it('serves cached keys and their limits, responds to others, and recovers', async () => {
    const redis = await open();
    const gateway = await startGateway({ main: network(CHAIN_ID, [node.url]) }, { REDIS_URL: redis.url, ...impatient });
    onTestFinished(async () => {
      await gateway.stop();
      await redis.stop();
    });
    const cached = await addKey(redis);
    const limited = await addKey(redis, { rate: '1000' });
    const uncached = await addKey(redis);
    await eventually(async () => (await send(gateway, cached)).status === 200);
    expect(await send(gateway, limited)).toMatchObject(correct);
    const countUpstreamCalls = (): number => node.callsOf(storage.method).length;
    const before = countUpstreamCalls();
    await redis.fail();

    const ofCached = await send(gateway, cached);
    const ofLimited = await send(gateway, limited);
    expect([ofCached, ofLimited]).toMatchObject([correct, correct]);
    const ofUncached = await send(gateway, uncached);
    const responses = [ofCached, ofLimited, ofUncached];
    if (ofUncached.status !== 200) expect(ofUncached).toMatchObject(unchecked);
    expect(countUpstreamCalls() - before).toBe(responses.filter(({ status }) => status === 200).length);

    await redis.mend();
    const recoveryMs = await eventually(async () => (await send(gateway, uncached)).status === 200, MAX_RECOVERY_MS);
    expect(await send(gateway, cached)).toMatchObject(correct);
    rows.push({
      name,
      cachedMs: ofCached.ms,
      limitedMs: ofLimited.ms,
      uncachedStatus: ofUncached.status,
      uncachedMs: ofUncached.ms,
      recoveryMs,
    });
  });
});
