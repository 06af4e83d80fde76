import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { makeAuthority } from '../support/authority.ts';
import { slow } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { startLoad } from '../support/load.ts';
import { startTlsFront } from '../support/tls-front.ts';

async function startNodes(count: number): Promise<FakeNode[]> {
  const nodes = await Promise.all(Array.from({ length: count }, () => startFakeNode({ chainId: 5 })));
  for (const node of nodes) node.always(slow(20));
  return nodes;
}

async function start(nodes: readonly FakeNode[], main: object): Promise<TestGateway> {
  const gateway = await startGateway({ main }, { UPSTREAM_CONNECTIONS: '3' });
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.map((node) => node.close()));
  });
  return gateway;
}

const appliedReloads = async ({ address }: TestGateway): Promise<number> =>
  (await readMetrics(address)).value('gatehouse_config_reloads_total', { outcome: 'applied' }) ?? 0;

it('under load, changes of `failsafe` lose no call and no connection, and hold for the next call', async () => {
  const nodes = await startNodes(2);
  const urls = nodes.map(({ url }) => url);
  const file = (failsafe: object): object =>
    network(5, urls, {
      failsafe: { hedgeAfterMs: 'off', ...failsafe },
      verify: { nulls: 'never' },
    });
  const gateway = await start(nodes, file({}));
  // An unknown error is sent to the next upstream, and opens no circuit.
  nodes[0]?.response('eth_getBalance', rpcError(-32_099, 'no rule has this text'));
  nodes[1]?.response('eth_getBalance', '0x2');
  // Another address for each call, because results are cached.
  const balance = async (of: number): Promise<unknown> =>
    (await gateway.call('main', 'eth_getBalance', [`0x${String(of).repeat(40)}`, 'latest'])).result;
  const load = startLoad(nodes, gateway.url('main'), 8);
  await load.more(50);
  const before = nodes[0]?.connections().toSorted();
  for (const [index, maxAttempts] of [1, 2, 1].entries()) {
    gateway.save({ main: file({ 'eth_*': { timeoutMs: 60_000 }, eth_getBalance: { maxAttempts } }) });
    // Only the folder watcher triggers the reload.
    await eventually(async () => (await appliedReloads(gateway)) === index + 1, 30_000);
    expect(await balance(index)).toBe(maxAttempts === 1 ? undefined : '0x2');
    await load.more(50);
  }
  const { sent, wrong } = await load.stop();
  expect(wrong).toEqual([]);
  expect(load.received().toSorted()).toEqual(sent.toSorted());
  // A replaced upstream has other connections. Its chain id is no sign: it is checked again 5 s after new ones.
  expect(nodes[0]?.connections().toSorted()).toEqual(before);
});

it('under load, renewed certificates lose no call', async () => {
  const nodes = await startNodes(1);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-renewed-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const [one, next] = [makeAuthority('One'), makeAuthority('Next')];
  const ca = join(folder, 'ca.pem');
  const write = (text: string): void => {
    writeFileSync(`${ca}~`, text);
    renameSync(`${ca}~`, ca);
  };
  write(one.ca);
  const { port } = await startTlsFront(nodes[0]?.url ?? '', one.issue());
  const upstreams = [{ name: 'ours', url: `https://localhost:${port}`, tls: { ca } }];
  const gateway = await start(nodes, network(5, [], { upstreams }));
  const load = startLoad(nodes, gateway.url('main'), 4);
  await load.more(50);
  const before = nodes[0]?.connections() ?? [];
  write(one.ca + next.ca);
  await eventually(async () => (await appliedReloads(gateway)) === 1, 30_000);
  await load.more(50);
  const { sent, wrong } = await load.stop();
  expect(wrong).toEqual([]);
  expect(load.received().toSorted()).toEqual(sent.toSorted());
  // The upstream was replaced: another one checks the chain id, and has other connections.
  expect(nodes[0]?.callsOf('eth_chainId').length).toBeGreaterThanOrEqual(2);
  await eventually(() => nodes[0]?.connections().some((port) => before.includes(port)) === false);
});
