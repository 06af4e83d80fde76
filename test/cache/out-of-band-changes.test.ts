import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { ScriptedChain } from '../chain/scripted-chain.ts';

const account = `0x${'12'.repeat(20)}`;
const development = ['evm_revert', 'anvil_setBalance', 'hardhat_reset', 'ganache_setAccount', 'debug_setHead'];
const methods = ['eth', ...development, 'debug_traceTransaction', 'acme_getBalances'];

let chain: ScriptedChain;
let node: FakeNode;

beforeEach(async () => {
  chain = new ScriptedChain({ from: 100 });
  // No chain id of a development chain.
  node = await startFakeNode({ chainId: 7771, responses: { eth_getBalance: '0x5' } });
  node.response('eth_getBlockByNumber', ([which]: [string]) => chain.byNumber(which === 'finalized' ? '0x64' : which));
  node.response('eth_blockNumber', () => chain.head.number);
  for (const method of methods.slice(1)) node.response(method, true);
  onTestFinished(() => node.close());
});

async function open(more: object = {}): Promise<TestGateway> {
  const gateway = await startGateway({ main: network(7771, [node.url], { methods, ...more }) });
  onTestFinished(() => gateway.stop());
  await gateway.call('main', 'eth_blockNumber');
  await eventually(async () => (await readMetrics(gateway.address)).value('gatehouse_network_head_block') === 100);
  return gateway;
}

const balance = (gateway: TestGateway) => gateway.call('main', 'eth_getBalance', [account, '0x64']);
const requests = (): number => node.callsOf('eth_getBalance').length;

/** Calls until state at the final block is cached. */
async function waitForFinalEntry(gateway: TestGateway): Promise<void> {
  await eventually(async () => {
    const before = requests();
    await balance(gateway);
    return requests() === before;
  });
}

it.each(development)('%s empties the cache of the network, with any chain id', async (method) => {
  const gateway = await open();
  await waitForFinalEntry(gateway);
  node.response('eth_getBalance', '0x6');
  expect(await balance(gateway)).toMatchObject({ result: '0x5' });
  await gateway.call('main', method);
  expect(await balance(gateway)).toMatchObject({ result: '0x6' });
});

it.each(['debug_traceTransaction', 'acme_getBalances'])('%s leaves the cache as it is', async (method) => {
  const gateway = await open();
  await waitForFinalEntry(gateway);
  const before = requests();
  await gateway.call('main', method);
  await balance(gateway);
  expect(requests()).toBe(before);
});

it('reads go back at once after a call that removed blocks', async () => {
  const gateway = await open();
  chain.mine(3);
  const number = async () => (await gateway.call('main', 'eth_blockNumber')).result;
  await eventually(async () => (await number()) === '0x67');
  chain.goBack(2);
  expect(await number()).toBe('0x67');
  await gateway.call('main', 'evm_revert');
  expect(await number()).toBe('0x65');
});

it('nothing is cached with `cache: off`, and a reload turns the cache off and on', async () => {
  const gateway = await open({ cache: 'off' });
  for (const block of ['latest', '0x64', 'latest', '0x64'])
    await gateway.call('main', 'eth_getBalance', [account, block]);
  expect(requests()).toBe(4);
  gateway.save({ main: network(7771, [node.url], { methods, cache: 'on' }) });
  await waitForFinalEntry(gateway);
  gateway.save({ main: network(7771, [node.url], { methods, cache: 'off' }) });
  await eventually(async () => {
    const before = requests();
    await balance(gateway);
    return requests() > before;
  });
});

it('entries survive a reload of the network', async () => {
  const gateway = await open();
  await waitForFinalEntry(gateway);
  const before = requests();
  gateway.save({ main: network(7771, [node.url], { methods, name: 'Renamed' }) });
  await eventually(() => gateway.gateway.networks[0]?.name === 'Renamed');
  await balance(gateway);
  expect(requests()).toBe(before);
});
