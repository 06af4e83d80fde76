import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { CommandFolder, type Served } from '../support/command-folder.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { installSystemClock } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';

/** A tenth of what a loaded machine sends, too. */
const rate = 10;
const burst = 30;
const seconds = 3;
/** Each sends one call after the other, so that calls do not wait in a slow gateway until they time out. */
const senders = 16;
/** Times by the position in its parameters: identical calls in progress would be coalesced. */
const sentAt: number[] = [];
const call = (): string => {
  const params = [`0x${'ab'.repeat(20)}`, `0x${(sentAt.push(Date.now()) - 1).toString(16)}`, 'latest'];
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
};

let node: FakeNode;
let redis: RedisServer;
let place: CommandFolder;
let gateways: Served[];
/** The calls that were charged and forwarded: the moment of the charge is between the two. */
const passed: { readonly sentAt: number; readonly arrivedAt: number }[] = [];
/** Responses other than 200 and 429. */
const unexpected: string[] = [];

beforeAll(async () => {
  redis = await startRedis();
  node = await startFakeNode({
    chainId: 1,
    responses: {
      eth_getStorageAt: (params: unknown) => {
        const position = Number((params as string[])[1]);
        passed.push({ sentAt: sentAt[position] ?? NaN, arrivedAt: Date.now() });
        return `0x${'0'.repeat(64)}`;
      },
    },
  });
  // What passes depends on the time of Redis.
  installSystemClock();
  place = new CommandFolder().withNetworks({
    main: { name: 'Main', chainId: 1, upstreams: [{ name: 'node', url: node.url }] },
  });
  const env = {
    REDIS_URL: redis.url,
    LOG_LEVEL: 'silent',
    UPSTREAM_TIMEOUT_MS: '30000',
    CALL_TIMEOUT_MS: '60000',
  };
  gateways = await Promise.all([place.serve(env), place.serve(env)]);
});
afterAll(async () => {
  await place.close();
  await node.close();
  await redis.stop();
});

async function post(gateway: Served, key: string): Promise<number> {
  const response = await fetch(`${gateway.address}/main/v3/${key}`, { method: 'POST', body: call() });
  const text = await response.text();
  if (![200, 429].includes(response.status)) unexpected.push(`${response.status} ${text}`);
  return response.status;
}

it('a leaked key that floods two gateways at ten times its limit gets at most limit + burst calls per second', async () => {
  const key = await place.addKey({
    permissions: { rate: String(rate), burst: String(burst) },
    redisUrl: redis.url,
  });
  // Opens connections and checks the chain, then waits until the bucket is full again.
  for (const gateway of gateways) expect(await post(gateway, key)).toBe(200);
  const limit = `gatehouse:limit:${keyIdOf(digestOf(key))}`;
  await eventually(async () => {
    const [missing = NaN, at = NaN] = (await redis.cli('HMGET', limit, 'missing', 'missingAt')).split('\n').map(Number);
    return at + (missing * 1_000) / rate <= Date.now();
  });
  passed.length = 0;

  const statuses = new Map<number, number>();
  const started = Date.now();
  const flood = async (_: unknown, sender: number): Promise<void> => {
    for (let count = sender; count < 10 * rate * seconds; count += senders) {
      const due = started + (count * 1_000) / (10 * rate);
      if (due > Date.now()) await scenarioPause(due - Date.now());
      const status = await post(gateways[sender % 2] as Served, key);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: senders }, flood));
  const took = (Date.now() - started) / 1_000;

  const windows: number[] = [];
  for (let from = started; from < started + took * 1_000; from += 100) {
    windows.push(passed.filter((one) => one.sentAt >= from && one.arrivedAt < from + 1_000).length);
  }
  expect(unexpected).toEqual([]);
  expect([...statuses.keys()].toSorted()).toEqual([200, 429]);
  expect(statuses.get(200)).toBe(passed.length);
  // With 100 ms of the rate of the other gateway.
  const others = rate / 10;
  expect(Math.max(...windows)).toBeLessThanOrEqual(rate + burst + others);
  // The limit also holds on average, and the key can use it fully.
  expect(passed.length).toBeLessThanOrEqual(burst + rate * took + 1 + others);
  expect(passed.length).toBeGreaterThan(0.9 * (burst + rate * took));
});
