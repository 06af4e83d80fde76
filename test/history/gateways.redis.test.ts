import { expect, it, onTestFinished, vi } from 'vitest';
import type { NetworkOverTime } from '../../gateway/server/pages/network-over-time.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';

interface Shown {
  readonly calls: number;
  readonly sent: number;
  readonly isPartial: boolean;
}

/** What the page of the network shows of the last hour. */
async function shownBy({ address }: TestGateway): Promise<Shown> {
  const response = await fetch(`${address}/main/history.json`);
  expect(response.status).toBe(200);
  const body = (await response.json()) as NetworkOverTime & { readonly isPartial?: boolean };
  const sum = (values: readonly (number | null)[] = []): number =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const sent = body.upstreams['node-0']?.['sent'];
  return { calls: sum(body.network['calls']), sent: sum(sent), isPartial: body.isPartial === true };
}

it('two gateways with one Redis show the sum of their calls, also after a restart and while Redis is unavailable', async () => {
  let aheadMs = 0;
  const responses = { eth_getStorageAt: `0x${'0'.repeat(64)}` };
  const now = Date.now.bind(Date);
  const time = vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs);
  const [redis, node] = await Promise.all([startRedis(), startFakeNode({ chainId: 5, responses })]);
  const opened: TestGateway[] = [];
  onTestFinished(async () => {
    time.mockRestore();
    await Promise.all(opened.map((gateway) => gateway.stop()));
    await Promise.all([redis.stop(), node.close()]);
  });
  const open = async (): Promise<TestGateway> => {
    const gateway = await startGateway({ main: network(5, [node.url], { cache: 'off' }) }, { REDIS_URL: redis.url });
    opened.push(gateway);
    return gateway;
  };
  const call = async (gateway: TestGateway, count: number): Promise<void> => {
    for (let slot = 0; slot < count; slot++)
      await gateway.call('main', 'eth_getStorageAt', [`0x${'1'.repeat(40)}`, `0x${slot.toString(16)}`, 'latest']);
  };
  const one = await open();
  const two = await open();
  await call(one, 3);
  await call(two, 5);
  // The steps of 30 s end. Gateways look each 10 s.
  aheadMs += 30_000;
  for (const gateway of [one, two]) await eventually(async () => (await shownBy(gateway)).calls === 8, 60_000, 500);
  const before = await shownBy(two);
  expect(before.sent).toBeGreaterThanOrEqual(8);
  expect(before.isPartial).toBe(false);

  // In the middle of a step.
  await call(two, 4);
  opened.splice(opened.indexOf(two), 1);
  await two.stop();
  aheadMs += 30_000;
  const again = await open();
  await eventually(async () => (await shownBy(again)).calls === 12);

  await redis.kill();
  for (const gateway of [one, again]) await eventually(async () => (await shownBy(gateway)).isPartial);
  expect([(await shownBy(one)).calls, (await shownBy(again)).calls]).toEqual([3, 0]);
});
