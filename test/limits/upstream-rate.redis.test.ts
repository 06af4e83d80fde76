import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';

it('the rate of an upstream is of all gateways with one Redis, with their polls', async () => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  const node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  const upstream = { name: 'node', url: node.url, limits: { perSecond: 0.001, burst: 30 } };
  const config = { ...network(7, []), upstreams: [upstream] };
  const gateways = await Promise.all([0, 1, 2].map(() => startGateway({ test: config }, { REDIS_URL: redis.url })));
  onTestFinished(async () => {
    for (const gateway of gateways) await gateway.stop();
    await node.close();
  });
  const call = (slot: number): object => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt' },
    params: [`0x${'ab'.repeat(20)}`, `0x${slot.toString(16)}`, 'latest'],
  });
  const statuses = await Promise.all(
    Array.from(
      { length: 90 },
      async (_, at) => (await gateways[at % 3]?.post('test', JSON.stringify(call(at))))?.status,
    ),
  );
  const served = statuses.filter((status) => status === 200).length;
  const own = node.calls.filter(({ method }) => method !== 'eth_getStorageAt').length;
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  // 100 ms of the rate are less than a request, so that Redis decides each.
  expect(served).toBeLessThanOrEqual(30);
  expect(served + own).toBeGreaterThanOrEqual(30);
  // Each gateway exchanges what it has taken by itself within 100 ms.
  await eventually(async () => Number(await redis.cli('HGET', 'gatehouse:limit:upstream:test/node', 'missing')) >= 29);
});
