import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { slow } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startLoad } from '../support/load.ts';

let nodes: FakeNode[];
let gateway: TestGateway;

beforeEach(async () => {
  nodes = await Promise.all([1, 2].map(() => startFakeNode({ chainId: 5 })));
  for (const node of nodes) node.always(slow(5));
});
afterEach(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

const networks = {
  one: { name: 'One', chainId: 5 },
  two: { name: 'Two', chainId: 5 },
  three: { name: 'Three', chainId: 5 },
};
const defaults = (index: number): object => ({
  ...{ verify: { nulls: 'never' }, failsafe: { hedgeAfterMs: 'off' } },
  upstreams: [{ name: `node-${index}`, url: nodes[index]?.url }],
});

async function appliedReloads(count: number): Promise<void> {
  const applied = async () =>
    (await readMetrics(gateway.address)).value('gatehouse_config_reloads_total', { outcome: 'applied' }) === count;
  await eventually(applied, 40_000);
}

it('under load, a change of defaults.yaml reaches every network and loses no call', async () => {
  gateway = await startGateway({ ...networks, defaults: defaults(0) });
  expect((await gateway.post('defaults', '{}')).status).toBe(404);
  const loads = Object.keys(networks).map((slug) => startLoad(nodes, gateway.url(slug), 2));
  for (const load of loads) await load.more(10);
  const before = nodes.map((node) => node.callsOf('eth_getStorageAt').length);
  gateway.save({ defaults: defaults(1) });
  // Only the folder watcher triggers the reload.
  await appliedReloads(1);
  for (const load of loads) await load.more(10);
  const received: string[] = [];
  for (const load of loads) {
    const { sent, wrong } = await load.stop();
    expect(wrong).toEqual([]);
    received.push(...sent);
  }
  expect(loads[0]?.received().toSorted()).toEqual(received.toSorted());
  expect(before[1]).toBe(0);
  expect(nodes[1]?.callsOf('eth_getStorageAt').length).toBeGreaterThanOrEqual(30);
  // Each network checks the chain of its new upstream.
  expect(nodes.map((node) => node.callsOf('eth_chainId').length)).toEqual([3, 3]);
});

it('under load, a file with a credential that changes is read again, and no call is lost', async () => {
  gateway = await startGateway({ ...networks, defaults: defaults(0) });
  const token = join(gateway.folder, 'token');
  writeFileSync(token, 'first\n');
  const withToken = { name: 'node-0', url: nodes[0]?.url, headers: { 'x-token': `\${file:${token}}` } };
  gateway.save({ defaults: { failsafe: { hedgeAfterMs: 'off' }, upstreams: [withToken] } });
  await appliedReloads(1);
  const load = startLoad(nodes.slice(0, 1), gateway.url('one'), 3);
  await load.more(10);
  writeFileSync(token, 'second\n');
  // Checked every 5 s, and with each event in the folder.
  writeFileSync(join(gateway.folder, 'notes.txt'), 'x');
  await appliedReloads(2);
  await load.more(10);
  const { sent, wrong } = await load.stop();
  expect(wrong).toEqual([]);
  expect(load.received().toSorted()).toEqual(sent.toSorted());
  const tokens = nodes[0]?.callsOf('eth_getStorageAt').map(({ headers }) => headers['x-token']) ?? [];
  expect([...new Set(tokens)]).toEqual(['first', 'second']);
  expect(tokens.at(-1)).toBe('second');
});
