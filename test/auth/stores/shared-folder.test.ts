import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { CommandFolder, type Served } from '../../support/command-folder.ts';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network } from '../../support/gateway.ts';

let node: FakeNode;
let place: CommandFolder;
let gateways: Served[];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  place = new CommandFolder().withNetworks({ main: network(5, [node.url]) });
  gateways = [await place.serve(), await place.serve()];
});
afterAll(async () => {
  await place.close();
  await node.close();
});

async function statuses(key: string): Promise<number[]> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
  const responses = gateways.map(({ address }) => fetch(`${address}/main/v3/${key}`, { method: 'POST', body }));
  return (await Promise.all(responses)).map(({ status }) => status);
}

it('two gateways on one DATA_DIR follow each other and the command line within a second', async () => {
  const key = await place.addKey();
  const id = keyIdOf(digestOf(key));
  expect(await statuses(key)).toEqual([200, 200]);
  await gateways[0]?.gateway.keys.update(id, { methods: 'eth' });
  await eventually(async () => (await statuses(key)).join() === '403,403', SOON_MS);
  const { code, stderr } = await place.run(['keys', 'revoke', id]);
  expect([code, stderr]).toEqual([0, '']);
  await eventually(async () => (await statuses(key)).join() === '401,401', SOON_MS);
});
