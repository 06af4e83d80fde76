import { afterAll, beforeAll, expect, it } from 'vitest';
import { MachineCharges } from '../../gateway/limits/machine-charges.ts';
import { MachineSlots } from '../../gateway/workers/machine-slots.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { LinkedWorkers } from '../workers/linked-workers.ts';
import { ScriptedChain } from './scripted-chain.ts';

const workers = new LinkedWorkers();
const chain = new ScriptedChain();
let node: FakeNode;
let gateways: readonly [TestGateway, TestGateway];

beforeAll(async () => {
  new MachineCharges().serve(workers.router);
  new MachineSlots(workers.router, 2).serve();
  workers.router.on('workers', () => ({ running: 2, ends: {} }));
  node = await startFakeNode({ chainId: 10 });
  node.response('eth_getBlockByNumber', () => chain.head);
  node.response('eth_blockNumber', () => chain.head.number);
  const start = (id: number): Promise<TestGateway> =>
    startGateway({ main: network(10, [node.url]) }, {}, undefined, workers.open(id));
  gateways = [await start(1), await start(2)];
});
afterAll(async () => {
  workers.go(2);
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await node.close();
});

async function latest(gateway: TestGateway, method: string): Promise<bigint> {
  const response = await gateway.call('main', method, method === 'eth_blockNumber' ? [] : ['latest', false]);
  const { result, error } = response as { result?: string | { number: string }; error?: unknown };
  expect(error).toBeUndefined();
  return BigInt(typeof result === 'string' ? result : (result?.number ?? -1));
}

it('a worker that hangs delays no call of the others, and returns no older block when it continues', async () => {
  const [first, second] = gateways;
  expect(await latest(second, 'eth_blockNumber')).toBe(chain.number);
  workers.stop(2);
  chain.mine();
  // The response before may be cached for a second.
  await eventually(async () => (await latest(first, 'eth_getBlockByNumber')) === chain.number);
  const served = chain.number;
  // The node lags, so that only the first worker knows the block.
  chain.goBack(1);
  let number: bigint | undefined;
  const responding = latest(second, 'eth_blockNumber').then((found) => (number = found));
  await staysTrueFor(100, () => number === undefined);
  workers.go(2);
  await responding;
  expect(number).toBe(served);
});

it('a probe of one of several workers ends its connection, so that the next one can go to another worker', async () => {
  for (const path of ['/livez', '/metrics', '/readyz']) {
    const response = await fetch(`${gateways[0].address}${path}`);
    await response.text();
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
  }
});
