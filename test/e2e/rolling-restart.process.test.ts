import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import type { Balancer } from '../support/balancer.ts';
import { slow } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { startNginx } from '../support/nginx.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';
import { startLoad } from '../support/load.ts';
import { Workplace, type Gateway } from './gateway-process.ts';

const chainId = 10;

let node: FakeNode;
let redis: RedisServer;
let place: Workplace;
let balancer: Balancer;
let ports: number[];

// nginx may have to be installed.
beforeAll(async () => {
  redis = await startRedis();
  node = await startFakeNode({ chainId });
  place = new Workplace().withNetworks({ main: network(chainId, [node.url]) });
  ports = [await freePort(), await freePort()];
  balancer = await startNginx(ports);
}, 300_000);
afterAll(async () => {
  await place.close();
  await Promise.all([balancer.stop(), node.close(), redis.stop()]);
});

function start(port: number | undefined): Promise<Gateway> {
  return place.start({ REDIS_URL: redis.url, PORT: String(port), DRAIN_DELAY_MS: '5000' });
}

it('two gateways behind nginx restart one after the other under load, without a failed call', async () => {
  const gateways = await Promise.all(ports.map(start));
  const key = await place.addKey({ redisUrl: redis.url });
  // A gateway that ends without draining cuts off calls that the node has received, and nginx must not repeat those.
  node.always(slow(15));
  const load = startLoad(node, `${balancer.address}/main/v3/${key}`, 12);
  for (const [index, gateway] of gateways.entries()) {
    await load.more(100);
    gateway.signal('SIGTERM');
    await eventually(async () => (await fetch(`${gateway.address}/readyz`)).status === 503);
    await load.more(20);
    expect(await gateway.ended).toMatchObject({ code: 0, signal: null });
    const next = await start(ports[index]);
    await eventually(async () => (await servedCalls(next)) > 20);
  }
  const { sent, wrong } = await load.stop();
  expect(wrong).toEqual([]);
  expect(load.received().toSorted()).toEqual(sent.toSorted());
  expect(sent.length).toBeGreaterThan(300);
}, 300_000);

/** The number of calls that a gateway has served. */
async function servedCalls(gateway: Gateway): Promise<number> {
  const { value } = await readMetrics(gateway.address);
  return value('gatehouse_calls_total', { method: 'eth_getStorageAt', outcome: 'result' }) ?? 0;
}
