import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { slow } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startLoad } from '../support/load.ts';

/** Fewer connections than concurrent calls, so that no connection is closed for idleness. */
const connections = { UPSTREAM_CONNECTIONS: '3' };

let nodes: FakeNode[];
let gateway: TestGateway;

beforeEach(async () => {
  nodes = await Promise.all([1, 2, 3].map(() => startFakeNode({ chainId: 5 })));
  for (const node of nodes) node.always(slow(20));
});
afterEach(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

/** A network file with these nodes as upstreams, each with its own name. */
function file(indexes: readonly number[]): object {
  const upstreams = indexes.map((index) => ({ name: `node-${index}`, url: nodes[index]?.url }));
  return network(5, [], { upstreams, verify: { nulls: 'never' }, failsafe: { hedgeAfterMs: 'off' } });
}

/** A new upstream checks the chain id before its first call, and each one again 5 s after new connections. */
const chainIdRequests = (): number[] => nodes.map((node) => node.callsOf('eth_chainId').length);

async function appliedReloads(): Promise<number> {
  return (await readMetrics(gateway.address)).value('gatehouse_config_reloads_total', { outcome: 'applied' }) ?? 0;
}

it('under load, changes of a network’s upstreams lose no call', async () => {
  gateway = await startGateway({ main: file([0]), still: file([2]) }, connections);
  const [moved, still] = [nodes.slice(0, 2), nodes.slice(2)];
  const loads = [startLoad(moved, gateway.url('main'), 8), startLoad(still, gateway.url('still'), 4)];
  const [onMain] = loads;
  await onMain?.more(50);
  const first = nodes[0]?.connections() ?? [];
  const before = nodes[2]?.connections().toSorted();
  for (const [count, main] of [[1, 0], [1], [0]].entries()) {
    gateway.save({ main: file(main) });
    // Only the folder watcher triggers the reload.
    await eventually(async () => (await appliedReloads()) === count + 1, 20_000);
    await onMain?.more(50);
  }
  for (const [index, load] of loads.entries()) {
    const { sent, wrong } = await load.stop();
    expect([index, wrong]).toEqual([index, []]);
    expect(load.received().toSorted()).toEqual(sent.toSorted());
  }
  for (const node of nodes) expect(node.callsOf('eth_getStorageAt').length).toBeGreaterThan(40);
  // The first upstream was removed and added again, which closed its connections; that of the other network did not change.
  expect(chainIdRequests()[0]).toBeGreaterThanOrEqual(2);
  await eventually(() => nodes[0]?.connections().some((port) => first.includes(port)) === false);
  expect(nodes[2]?.connections().toSorted()).toEqual(before);
  await eventually(() => nodes[1]?.connections().length === 0, 20_000);
});

it('under load, an invalid file changes nothing, is logged once, and is applied once it is corrected', async () => {
  gateway = await startGateway({ main: file([0]), more: file([1]) }, connections);
  const load = startLoad(nodes.slice(0, 1), gateway.url('main'), 4);
  await load.more(50);
  const rejected = async (): Promise<number | undefined> =>
    (await readMetrics(gateway.address)).value('gatehouse_config_reloads_total', { outcome: 'rejected' });
  const started = (await state()).digest;
  const before = nodes[0]?.connections().toSorted();
  // A change is applied completely or not at all: its valid part has no effect either.
  gateway.save({ main: 'name: Main\nchainId: five\nupstreams: []\n', more: undefined });
  await eventually(async () => (await rejected()) === 1, 20_000);
  await load.more(20);
  const { ready, digest, rejection, text } = await state();
  expect([ready, digest]).toEqual([true, started]);
  expect(rejection?.mistakes).toEqual([
    // The texts are in the log: /readyz may be public.
    'main.yaml:2:10',
    'main.yaml:3:12',
  ]);
  expect(text).not.toContain(new URL(nodes[0]?.url ?? '').host);
  expect((await gateway.call('more', 'net_version')).result).toBe('5');
  // A file saved without changes, and other files in the folder, trigger no reload.
  writeFileSync(join(gateway.folder, 'notes.txt'), 'x');
  gateway.save({ main: 'name: Main\nchainId: five\nupstreams: []\n' });
  await staysTrueFor(700, async () => (await rejected()) === 1);
  const page = await readMetrics(gateway.address);
  expect(page.value('gatehouse_config_last_reload_successful')).toBe(0);

  gateway.save({ main: file([0]) });
  await eventually(async () => (await appliedReloads()) === 1, 20_000);
  await load.more(20);
  expect((await state()).rejection).toBeNull();
  expect((await readMetrics(gateway.address)).value('gatehouse_config_last_reload_successful')).toBe(1);
  expect((await gateway.post('more', '{}')).status).toBe(404);
  const { sent, wrong } = await load.stop();
  expect(wrong).toEqual([]);
  expect(load.received().toSorted()).toEqual(sent.toSorted());
  // A replaced upstream has other connections.
  expect(chainIdRequests().slice(1)).toEqual([0, 0]);
  expect(nodes[0]?.connections().toSorted()).toEqual(before);
});

interface Rejection {
  readonly mistakes: readonly string[];
}

async function state(): Promise<{ ready: boolean; digest: string; rejection: Rejection | null; text: string }> {
  const text = await (await fetch(`${gateway.address}/readyz`)).text();
  const { ready, configuration } = JSON.parse(text) as {
    ready: boolean;
    configuration: { digest: string; refused: Rejection | null };
  };
  return { ready, digest: configuration.digest, rejection: configuration.refused, text };
}
