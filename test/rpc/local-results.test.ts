import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const expected: Record<string, (chainId: number) => unknown> = {
  eth_chainId: (chainId) => `0x${chainId.toString(16)}`,
  net_version: (chainId) => String(chainId),
  net_listening: () => true,
  web3_clientVersion: () => `Gatehouse/v${version}`,
  eth_accounts: () => [],
  rpc_modules: () => ({ eth: '1.0', net: '1.0', rpc: '1.0', web3: '1.0' }),
};
const networks = { mainnet: 1, zksync: 324, far: Number.MAX_SAFE_INTEGER };

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 1 });
  const files = Object.entries(networks).map(([slug, chainId]) => [slug, network(chainId, [node.url])]);
  gateway = await startGateway({
    ...(Object.fromEntries(files) as Record<string, object>),
    narrow: network(1, [node.url], { methods: ['eth_getStorageAt', 'net', '-net_listening'] }),
  });
});
afterAll(async () => {
  expect(node.calls).toEqual([]);
  await gateway.stop();
  await node.close();
});

it('every method that is handled locally has a result here', () => {
  const marked = methods.filter(({ handledBy }) => handledBy === 'local').map(({ name }) => name);
  const advice = 'add the result of each method to `expected` in test/rpc/local-results.test.ts';
  expect(marked.toSorted(), advice).toEqual(Object.keys(expected).toSorted());
});

describe.each(Object.entries(networks))('on %s, without upstream requests,', (slug, chainId) => {
  it.each(Object.keys(expected))('%s returns its result', async (method) => {
    const result = expected[method]?.(chainId);
    expect(await gateway.call(slug, method)).toEqual({ jsonrpc: '2.0', id: 1, result });
    const body = `{"jsonrpc":"2.0","id":"1763700000000","method":"${method}"}`;
    expect(await (await gateway.post(slug, body)).json()).toEqual({ jsonrpc: '2.0', id: '1763700000000', result });
  });

  it.each(Object.keys(expected))('%s has no parameters', async (method) => {
    const error = { code: -32602, message: 'invalid params: expected no parameters' };
    expect(await gateway.call(slug, method, ['latest'])).toEqual({ jsonrpc: '2.0', id: 1, error });
  });

  it('all of them return results in a batch', async () => {
    const body = Object.keys(expected).map((method, id) => ({ jsonrpc: '2.0', id, method }));
    const responses = await (await gateway.post(slug, JSON.stringify(body))).json();
    expect(responses).toEqual(Object.values(expected).map((of, id) => ({ jsonrpc: '2.0', id, result: of(chainId) })));
  });
});

it('they return results while no upstream is reachable', async () => {
  await node.refuse();
  expect(await gateway.call('mainnet', 'eth_chainId')).toMatchObject({ result: '0x1' });
  await node.listen();
});

it('a network that does not list them does not have them', async () => {
  expect(await gateway.call('narrow', 'net_version')).toMatchObject({ result: '1' });
  for (const method of ['eth_chainId', 'net_listening', 'web3_clientVersion', 'eth_accounts']) {
    const error = { code: -32601, message: `The method ${method} does not exist/is not available` };
    expect(await gateway.call('narrow', method)).toEqual({ jsonrpc: '2.0', id: 1, error });
  }
});
