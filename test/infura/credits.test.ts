import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf } from '../../gateway/auth/formats/key.ts';
import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { lastDays } from '../../gateway/usage/usage-store.ts';
import { chainNetwork, startChainNode } from '../subscriptions/chain-node.ts';
import { hashOf, ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { openSubscriber, type Subscriber } from '../subscriptions/subscriber.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openUsage } from '../usage/open-usage.ts';

const daily = 1_000_000;
const id = (gateway: TestGateway): string => keyIdOf(digestOf(gateway.key));

interface Started {
  readonly chain: ScriptedChain;
  readonly gateway: TestGateway;
}

async function start(permissions: PermissionChange = { daily: String(daily) }): Promise<Started> {
  const chain = new ScriptedChain();
  const node = await startChainNode(7, chain);
  const gateway = await startGateway({ seven: chainNetwork(7, [node]) }, { UNITS_FILE: 'infura' });
  onTestFinished(async () => {
    await gateway.stop();
    await node.stop();
  });
  await gateway.gateway.keys.update(id(gateway), permissions);
  await eventually(async () => (await gateway.post('seven', '{}')).headers.has('ratelimit-limit'));
  return { chain, gateway };
}

async function remaining(gateway: TestGateway, body: unknown): Promise<number> {
  const response = await gateway.post('seven', JSON.stringify(body));
  await response.arrayBuffer();
  return Number(response.headers.get('ratelimit-remaining'));
}

const call = (method: string, params: unknown[] = [], at = 1): object => ({ jsonrpc: '2.0', id: at, method, params });
const chainId = call('eth_chainId');
const balance = call('eth_getBalance', [`0x${'ab'.repeat(20)}`, 'latest']);

it.each([
  ['eth_chainId', chainId, 5],
  ['most methods', balance, 80],
  ['eth_getLogs', call('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x2' }]), 255],
  ['a method without a published number', call('eth_getHeaderByNumber', ['latest']), 80],
  ['a batch', [balance, chainId], 80 + 80 + 5],
  ['a call that the gateway rejects', call('eth_getBalance', ['no address']), 5],
  ['an invalid request', { id: 1 }, 5],
])('with UNITS_FILE=infura, %s costs the published credits', async (_, body, credits) => {
  const { gateway } = await start();
  const before = await remaining(gateway, chainId);
  expect(before - (await remaining(gateway, body))).toBe(credits);
});

it('a call that no upstream serves costs what it would cost if it were served', async () => {
  const gateway = await startGateway({ seven: network(7, ['http://127.0.0.1:1']) }, { UNITS_FILE: 'infura' });
  onTestFinished(() => gateway.stop());
  await gateway.gateway.keys.update(id(gateway), { daily: String(daily) });
  await eventually(async () => (await gateway.post('seven', '{}')).headers.has('ratelimit-limit'));
  const before = await remaining(gateway, chainId);
  const response = await gateway.post('seven', JSON.stringify(balance));
  expect(response.status).toBe(503);
  expect(before - (await remaining(gateway, chainId))).toBe(80 + 5);
});

async function subscribed(
  gateway: TestGateway,
): Promise<{ subscriber: Subscriber; heads: unknown[]; logs: unknown[] }> {
  const subscriber = await openSubscriber(gateway, 'seven');
  onTestFinished(() => {
    subscriber.caller.socket.terminate();
  });
  const heads = await subscriber.subscribe('newHeads');
  return { subscriber, heads, logs: await subscriber.subscribe('logs', {}) };
}

const log = { address: `0x${'cd'.repeat(20)}`, topics: [hashOf('topic')] };

it('each head costs 50, and the logs of each block 300 together', async () => {
  const { chain, gateway } = await start();
  const { heads, logs } = await subscribed(gateway);
  const before = await remaining(gateway, chainId);
  // More than what is delivered in one turn.
  chain.mine(Array.from({ length: 50 }, () => log));
  await eventually(() => heads.length === 1 && logs.length === 50);
  chain.mine([log]);
  await eventually(() => heads.length === 2 && logs.length === 51);
  chain.mine();
  // The second one is the head when the logs of the first one are delivered.
  for (let mined = 0; mined < 2; mined++) chain.mine([log]);
  await eventually(() => heads.length === 5 && logs.length === 53);
  const units = 5 * 50 + 4 * 300;
  expect(before - (await remaining(gateway, chainId))).toBe(units + 5);
  const usage = await openUsage({ REDIS_URL: undefined, DATA_DIR: gateway.dataDir });
  await eventually(async () => {
    const rows = await usage.read(id(gateway), lastDays(1));
    return rows.some((row) => row.method === 'eth_subscription' && row.units === units);
  });
});

it('a quota that is used up by notifications closes the sockets of the key', async () => {
  const { chain, gateway } = await start({ daily: '400' });
  const { subscriber, heads, logs } = await subscribed(gateway);
  chain.mine([log]);
  await eventually(() => heads.length === 1 && logs.length === 1);
  chain.mine();
  expect(await subscriber.caller.closed).toEqual({ code: 1008, reason: 'the quota of the project ID is used up' });
});
