import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { eventually } from '../auth/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type JsonRpcResponse, type TestGateway } from '../support/gateway.ts';
import { CHAIN_ID, goodAnswers } from './bad-upstream.ts';
import { redisRowOf, writeTable, type RedisRow } from './fault-table.ts';
import { storage } from './faults.ts';
import { redisFaults, type BadRedis } from './redis-faults.ts';

const IN_TIME_MS = 3_000;
/** A Sentinel looks, waits and asks around before it moves. */
const BACK_MS = 20_000;

const rows: RedisRow[] = [];
let node: FakeNode;

beforeAll(async () => {
  node = await startFakeNode({ chainId: CHAIN_ID, responses: goodAnswers });
});
afterAll(async () => {
  await node.close();
  const file = process.env['FAULTS_TABLE'];
  if (file !== undefined) writeTable(file, 'redis', rows.map(redisRowOf));
});

async function ask(
  gateway: TestGateway,
  key: string,
): Promise<{ status: number; response: JsonRpcResponse; ms: number }> {
  const began = performance.now();
  const { method, params } = storage;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'x', method, params });
  const response = await fetch(`${gateway.address}/main/v3/${key}`, { method: 'POST', body });
  const rpcResponse = (await response.json()) as JsonRpcResponse;
  return { status: response.status, response: rpcResponse, ms: performance.now() - began };
}

async function addKey(redis: BadRedis, ...rules: string[]): Promise<string> {
  const key = makeKey();
  const fields = ['name', 'test', 'createdAt', new Date().toISOString(), ...rules];
  await redis.leader.cli('HSET', `gatehouse:key:${digestOf(key)}`, ...fields);
  return key;
}

const right = { status: 200, response: { id: 'x', result: storage.result } };
const unchecked = {
  status: 503,
  response: { error: { code: -32603, message: 'the key cannot be checked at the moment' } },
};

describe.each(redisFaults)('$name', ({ name, open }) => {
  it('keys that were seen go on, limits too, others are told in time, and all is well afterwards', async () => {
    const redis = await open();
    const gateway = await startGateway({ main: network(CHAIN_ID, [node.url]) }, { REDIS_URL: redis.url });
    onTestFinished(async () => {
      await gateway.stop();
      await redis.stop();
    });
    const seen = await addKey(redis);
    const limited = await addKey(redis, 'rate', '1000');
    const unseen = await addKey(redis);
    await eventually(async () => (await ask(gateway, seen)).status === 200, IN_TIME_MS);
    expect(await ask(gateway, limited)).toMatchObject(right);
    const requested = (): number => node.callsOf(storage.method).length;
    const before = requested();
    await redis.fail();

    const first = await ask(gateway, seen);
    const withLimits = await ask(gateway, limited);
    expect([first, withLimits]).toMatchObject([right, right]);
    const told = await ask(gateway, unseen);
    const answered = [first, withLimits, told].filter(({ status }) => status === 200).length;
    if (told.status !== 200) expect(told).toMatchObject(unchecked);
    for (const { ms } of [first, withLimits, told]) expect(ms).toBeLessThan(IN_TIME_MS);
    expect(requested() - before).toBe(answered);

    await redis.mend();
    const backMs = await eventually(async () => (await ask(gateway, unseen)).status === 200, BACK_MS);
    expect(await ask(gateway, seen)).toMatchObject(right);
    rows.push({ name, seenMs: first.ms, limitedMs: withLimits.ms, told: told.status, toldMs: told.ms, backMs });
  }, 40_000);
});
