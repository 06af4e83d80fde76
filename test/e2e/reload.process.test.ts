import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { Workplace, type Gateway } from './gateway-process.ts';

let node: FakeNode;
let place: Workplace;
let gateway: Gateway;

beforeEach(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_getBalance: '0x1' } });
  place = new Workplace();
});
afterEach(async () => {
  await place.close();
  await node.close();
});

async function sendCall(slug: string, method: string, params: unknown[]): Promise<unknown> {
  const key = /^Development key.*: (\S+)$/m.exec(gateway.banner)?.[1] ?? '';
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(`${gateway.address}/${slug}/v3/${key}`, { method: 'POST', body });
  return ((await response.json()) as { result?: unknown }).result;
}

/** The number of times that the log has a text. */
function logged(text: string): number {
  return gateway.stderr().split(text).length - 1;
}

it('reports invalid files once, with the position, and again after SIGHUP', async () => {
  place.withNetworks({ main: network(10, [node.url]) });
  gateway = await place.start();
  const balance = (): Promise<unknown> => sendCall('main', 'eth_getBalance', [`0x${'12'.repeat(20)}`, 'latest']);
  expect(await balance()).toBe('0x1');
  place.withNetworks({ main: 'name: Main\nchainId: 10\nupstreams:\n  - name: one\n    adress: x\n' });
  await eventually(() => logged('networks/main.yaml:5:5 upstreams[0].adress is not known') === 1);
  expect([logged('network files rejected'), logged('"level":50')]).toEqual([1, 1]);
  gateway.signal('SIGHUP');
  await eventually(() => logged('network files rejected') === 2);
  expect(await balance()).toBe('0x1');
  place.withNetworks({ main: network(10, [node.url]), more: network(10, [node.url]) });
  await eventually(() => logged('network files reloaded') === 1);
  expect(gateway.stderr()).toContain('"files":["more.yaml"],"added":["more"],"changed":[],"removed":[]');
  expect(await balance()).toBe('0x1');
  expect(gateway.stderr()).not.toContain(new URL(node.url).host);
  expect(node.callsOf('eth_getBalance')).toHaveLength(3);
  expect(new Set(node.callsOf('eth_getBalance').map(({ connection }) => connection)).size).toBeLessThan(3);
  expect(await gateway.stop()).toMatchObject({ code: 0 });
});
