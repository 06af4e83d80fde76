import { afterEach, beforeEach, expect, it } from 'vitest';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const account = `0x${'12'.repeat(20)}`;
const slot = [account, '0x0', 'latest'];
const word = (digit: string): string => `0x${digit.repeat(64)}`;

let chain: ScriptedChain;
let node: FakeNode;
let gateway: TestGateway;
const requested = (method: string): number => node.callsOf(method).length;

beforeEach(async () => {
  chain = new ScriptedChain({ from: 100 });
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word('1'), eth_gasPrice: '0x7' } });
  node.response('eth_getBlockByNumber', ([which]: [string]) =>
    which === 'finalized' ? chain.byNumber('0x64') : chain.byNumber(which),
  );
  node.response('eth_getBlockByHash', ([which]: [string]) => chain.byHash(which));
  await open({ CACHE_MAX_BYTES: '1000000' });
});
afterEach(async () => {
  await gateway.stop();
  await node.close();
});

async function open(env: Record<string, string>): Promise<void> {
  gateway = await startGateway({ main: network(5, [node.url]) }, env);
  // The first call starts the head polls.
  await gateway.call('main', 'eth_gasPrice');
  await eventually(async () => (await readMetrics(gateway.address)).value('gatehouse_network_head_block') === 100);
}

it('a result at the head is cached at its second request, and returned under each id', async () => {
  const entries = async (): Promise<number | undefined> =>
    (await readMetrics(gateway.address)).value('gatehouse_cache_entries');
  for (const id of [1, 'two', 3, 4]) {
    expect(await gateway.call('main', 'eth_getStorageAt', slot, id)).toEqual({ jsonrpc: '2.0', id, result: word('1') });
    if (id === 1) expect(await entries()).toBe(0);
  }
  expect(requested('eth_getStorageAt')).toBe(2);
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_cache_lookups_total', { method: 'eth_getStorageAt', outcome: 'hit' })).toBe(2);
  expect(value('gatehouse_cache_entries')).toBe(1);
});

it('calls at the head that do not repeat leave no entries', async () => {
  for (let position = 0; position < 50; position++)
    await gateway.call('main', 'eth_getStorageAt', [account, `0x${position.toString(16)}`, 'latest']);
  expect((await readMetrics(gateway.address)).value('gatehouse_cache_entries')).toBe(0);
});

it('gas prices in different fee currencies are different entries', async () => {
  node.response('eth_gasPrice', ([currency]: [string?]) => (currency === undefined ? '0x7' : '0x9'));
  for (const id of [1, 2, 3]) {
    expect(await gateway.call('main', 'eth_gasPrice', [], id)).toMatchObject({ result: '0x7' });
    expect(await gateway.call('main', 'eth_gasPrice', [account], id)).toMatchObject({ result: '0x9' });
  }
  expect(node.callsOf('eth_gasPrice').filter(({ params }) => (params as unknown[]).length === 1)).toHaveLength(2);
});

it('a call without a block is the one at latest', async () => {
  node.response('eth_getCode', '0x6001');
  for (const params of [[account], [account, 'latest'], [account, null], [account]])
    expect(await gateway.call('main', 'eth_getCode', params)).toMatchObject({ result: '0x6001' });
  expect(node.callsOf('eth_getCode').map(({ params }) => params)).toEqual([
    [account, 'latest'],
    [account, 'latest'],
  ]);
});

it('final state and blocks by hash are served from the cache when the upstream fails; other calls fail', async () => {
  const final = [account, '0x0', '0x64'];
  // The first call starts the request for the final block.
  await gateway.call('main', 'eth_getStorageAt', final);
  await eventually(() => node.calls.some(({ params }) => (params as unknown[])[0] === 'finalized'));
  await eventually(async () => {
    await gateway.call('main', 'eth_getStorageAt', final);
    return (await readMetrics(gateway.address)).value('gatehouse_cache_lookups_total', { outcome: 'hit' }) !== 0;
  });
  const block = [chain.head.hash, false];
  const first = await gateway.call('main', 'eth_getBlockByHash', block);
  node.always(status(500));
  expect(await gateway.call('main', 'eth_getStorageAt', final)).toMatchObject({ result: word('1') });
  expect(await gateway.call('main', 'eth_getBlockByHash', block)).toEqual(first);
  expect(await gateway.call('main', 'eth_getStorageAt', [account, '0x0', '0x65'])).toMatchObject({
    error: { code: -32603 },
  });
});

it('a key without permission gets no cached response', async () => {
  for (const id of [1, 2]) await gateway.call('main', 'eth_getStorageAt', slot, id);
  const key = makeKey();
  const record = { name: 'bob', createdAt: new Date().toISOString(), permissions: { methods: 'eth_blockNumber' } };
  await gateway.gateway.keys.add(digestOf(key), record);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: slot });
  const rejected = await fetch(`${gateway.address}/main/v3/${key}`, { method: 'POST', body });
  expect([rejected.status, await rejected.text()]).toEqual([403, expect.stringContaining('project ID settings')]);
});

it.each([1337, 31337])('nothing is cached on the development chain %i', async (chainId) => {
  const own = await startFakeNode({ chainId, responses: { eth_getBalance: '0x1' } });
  own.response('eth_getBlockByNumber', ([which]: [string]) => chain.byNumber(which === 'finalized' ? '0x64' : which));
  const development = await startGateway({ main: network(chainId, [own.url]) }, { CACHE_MAX_BYTES: '1000000' });
  await development.call('main', 'eth_getBalance', [account, 'latest']);
  await eventually(async () => (await readMetrics(development.address)).value('gatehouse_network_head_block') === 100);
  for (const block of ['latest', '0x64', 'latest', '0x64']) {
    await development.call('main', 'eth_getBalance', [account, block]);
  }
  expect(own.callsOf('eth_getBalance')).toHaveLength(5);
  await development.stop();
  await own.close();
});

it('nothing is cached with CACHE_MAX_BYTES=0', async () => {
  await gateway.stop();
  await open({ CACHE_MAX_BYTES: '0' });
  for (const id of [1, 2, 3]) await gateway.call('main', 'eth_getStorageAt', slot, id);
  expect(requested('eth_getStorageAt')).toBe(3);
});
