import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { processesWith } from '../e2e/gateway-process.ts';
import { CommandFolder, type Served } from '../support/command-folder.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';

// Chain ids that no other test uses: a test finds anvil and its lifeline shell by their command line.
const [unchanged, removed, added, killed] = [7_310_011, 7_310_012, 7_310_013, 7_310_014] as const;
const chain = (chainId: number): object => ({ name: 'Mine', chainId, upstreams: [{ name: 'anvil', spawn: 'anvil' }] });
const pidsOf = (chainId: number): number[] => processesWith(`--chain-id ${chainId}`);

let place: CommandFolder;

beforeEach(() => {
  place = new CommandFolder();
});
afterEach(async () => {
  await place.close();
  expect([unchanged, removed, added, killed].flatMap(pidsOf)).toEqual([]);
});

async function resultOf(gateway: Served, slug: string, method: string, params: unknown[]): Promise<unknown> {
  return (await gateway.call(slug, method, params)).result;
}

it('a reload starts the chains of new networks, stops those of removed networks, and leaves the others running', async () => {
  place.withNetworks({ unchanged: chain(unchanged), removed: chain(removed) });
  const gateway = await place.serve();
  const [before] = [pidsOf(unchanged), pidsOf(removed)];
  expect(before).not.toEqual([]);
  await eventually(async () => (await resultOf(gateway, 'removed', 'eth_gasPrice', [])) !== undefined);
  const block = await resultOf(gateway, 'unchanged', 'eth_getBlockByNumber', ['latest', false]);
  const folder = join(place.folder, 'networks');
  renameSync(join(folder, 'removed.yaml'), join(folder, 'removed.yaml.off'));
  place.withNetworks({ added: chain(added), unchanged: { ...chain(unchanged), name: 'Still mine' } });
  await eventually(() => pidsOf(removed).length === 0 && pidsOf(added).length > 0);
  await eventually(async () => (await resultOf(gateway, 'added', 'eth_gasPrice', [])) !== undefined);
  expect(await resultOf(gateway, 'unchanged', 'eth_getBlockByNumber', ['latest', false])).toEqual(block);
  expect(pidsOf(unchanged)).toEqual(before);
  rmSync(join(folder, 'added.yaml'));
  await eventually(() => pidsOf(added).length === 0);
  await gateway.stop();
  expect(gateway.log()).not.toMatch(/"level":[56]0/);
});

it('a gateway whose chain is killed continues with its other networks, and logs it once', async () => {
  const node = await startFakeNode({ chainId: 10, responses: { eth_gasPrice: '0x7' } });
  place.withNetworks({ fake: network(10, [node.url]), mine: chain(killed) });
  const gateway = await place.serve();
  await eventually(async () => (await resultOf(gateway, 'mine', 'eth_gasPrice', [])) !== undefined);
  for (const pid of pidsOf(killed)) process.kill(pid, 'SIGKILL');
  await eventually(() => gateway.log().includes('the local node ended unexpectedly'));
  expect(await resultOf(gateway, 'fake', 'eth_gasPrice', [])).toBe('0x7');
  expect((await gateway.post('mine', '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}')).status).toBe(503);
  await gateway.stop();
  await node.close();
  expect(gateway.log().match(/ended unexpectedly/g)).toHaveLength(1);
});
