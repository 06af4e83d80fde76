import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { Workplace, type Gateway } from './gateway-process.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { eventually } from '../support/eventually.ts';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';

const rate = 40;
const burst = 60;
const seconds = 5;
/** Each call has another position: identical calls in progress would be coalesced. */
let position = 0;
const call = (): string => {
  const params = [`0x${'ab'.repeat(20)}`, `0x${position++}`, 'latest'];
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
};

let node: FakeNode;
let redis: RedisServer;
let place: Workplace;
let gateways: Gateway[];
const arrivals: number[] = [];
/** Responses other than 200 and 429. */
const unexpected: string[] = [];

beforeAll(async () => {
  redis = await startRedis();
  node = await startFakeNode({
    chainId: 1,
    responses: {
      eth_getStorageAt: () => {
        arrivals.push(performance.now());
        return `0x${'0'.repeat(64)}`;
      },
    },
  });
  place = new Workplace().withNetworks({
    main: { name: 'Main', chainId: 1, upstreams: [{ name: 'node', url: node.url }] },
  });
  const env = { REDIS_URL: redis.url, LOG_LEVEL: 'silent' };
  gateways = await Promise.all([place.start(env), place.start(env)]);
}, 60_000);
afterAll(async () => {
  await place.close();
  await node.close();
  await redis.stop();
});

async function makeKey(...flags: string[]): Promise<string> {
  const { stdout } = await place.run(['keys', 'create', '--name', 'leaked', '--json', ...flags], {
    REDIS_URL: redis.url,
  });
  return (JSON.parse(stdout) as { key: string }).key;
}

async function post(gateway: Gateway, key: string): Promise<number> {
  const response = await fetch(`${gateway.address}/main/v3/${key}`, { method: 'POST', body: call() });
  const text = await response.text();
  if (![200, 429].includes(response.status)) unexpected.push(`${response.status} ${text}`);
  return response.status;
}

it('a leaked key that floods two gateways at ten times its limit gets at most limit + burst calls per second', async () => {
  const key = await makeKey('--rate', String(rate), '--burst', String(burst));
  // Opens connections and checks the chain, then waits until the bucket is full again.
  for (const gateway of gateways) expect(await post(gateway, key)).toBe(200);
  const limit = `gatehouse:limit:${keyIdOf(digestOf(key))}`;
  await eventually(async () => Number(await redis.cli('HGET', limit, 'fullAt')) <= Date.now());
  arrivals.length = 0;

  const statuses = new Map<number, number>();
  const started = performance.now();
  const sent: Promise<void>[] = [];
  for (let count = 0; count < 10 * rate * seconds; count++) {
    const due = started + (count * 1_000) / (10 * rate);
    if (due > performance.now()) await scenarioPause(due - performance.now());
    const gateway = gateways[count % 2] as Gateway;
    sent.push(post(gateway, key).then((status) => void statuses.set(status, (statuses.get(status) ?? 0) + 1)));
  }
  await Promise.all(sent);
  const took = (performance.now() - started) / 1_000;

  const windows: number[] = [];
  for (let from = started; from < started + took * 1_000; from += 100) {
    windows.push(arrivals.filter((at) => at >= from && at < from + 1_000).length);
  }
  expect(unexpected).toEqual([]);
  expect([...statuses.keys()].toSorted()).toEqual([200, 429]);
  expect(statuses.get(200)).toBe(arrivals.length);
  expect(Math.max(...windows)).toBeLessThanOrEqual(rate + burst);
  // The limit also holds on average, and the key can use it fully.
  expect(arrivals.length).toBeLessThanOrEqual(burst + rate * took + 1);
  expect(arrivals.length).toBeGreaterThan(0.9 * (burst + rate * took));
}, 30_000);
