import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startHostileNode, type Flood } from '../abuse/processes/hostile-node.ts';
import { shiftClock } from '../routing/with-nodes.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';
import { chainNetwork, startChainNode } from './chain-node.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

const CHAIN_ID = 7_777;

async function subscriberOf(file: object): Promise<Subscriber> {
  const gateway = await startGateway({ test: file });
  const subscriber = await openSubscriber(gateway, 'test');
  onTestFinished(async () => {
    subscriber.caller.socket.terminate();
    await gateway.stop();
  });
  return subscriber;
}

it('members of L2s in headers are delivered up to 4 kB each, and a header of more than 64 kB is not', async () => {
  const chain = new ScriptedChain();
  let extraData = '0x';
  const large = Array.from({ length: 1_000 }, () => '0x1234');
  const node = await startChainNode(CHAIN_ID, chain, (header) => ({
    ...{ ...header, l1BlockNumber: '0x5', nested: { of: ['l2'] }, large, text: 'x'.repeat(5_000) },
    extraData,
  }));
  onTestFinished(() => node.stop());
  const subscriber = await subscriberOf(chainNetwork(CHAIN_ID, [node]));
  const heads = (await subscriber.subscribe('newHeads')) as Record<string, unknown>[];
  extraData = `0x${'ab'.repeat(20_000)}`;
  const first = chain.mine();
  await eventually(() => heads.length === 1);
  expect(heads[0]).toEqual({ ...first.header, extraData, l1BlockNumber: '0x5', nested: { of: ['l2'] } });
  extraData = `0x${'ab'.repeat(40_000)}`;
  const second = chain.mine();
  extraData = '0x';
  const third = chain.mine();
  // The node returns the second one by its hash, without the extra data.
  await eventually(() => heads.length === 3);
  expect(heads.map(({ hash }) => hash)).toEqual([first, second, third].map(({ header }) => header.hash));
  expect(heads[1]?.['extraData']).toBe('0x');
});

it('only hashes of 32 bytes are delivered as pending transactions', async () => {
  const changes = [`0x${'0'.repeat(200_000)}`, hashOf('a'), '0x12', 7, hashOf('b')];
  const node = await startFakeNode({
    chainId: CHAIN_ID,
    responses: { eth_newPendingTransactionFilter: '0xf1', eth_getFilterChanges: () => changes.splice(0) },
  });
  onTestFinished(() => node.close());
  const subscriber = await subscriberOf(network(CHAIN_ID, [node.url]));
  const hashes = await subscriber.subscribe('newPendingTransactions');
  await eventually(() => hashes.length >= 2);
  expect(hashes).toEqual([hashOf('a'), hashOf('b')]);
});

it.each<[Flood, string]>([
  ['heads', 'newHeads'],
  ['fat-heads', 'newHeads'],
  ['early-notifications', 'newHeads'],
  ['long-hashes', 'newPendingTransactions'],
])('an upstream that floods with %s is disconnected, and not connected again for a while', async (flood, kind) => {
  // The allowance does not grow, so that what a slow machine sends is a flood, too.
  shiftClock();
  const node = startHostileNode(0, CHAIN_ID, flood);
  await once(node, 'listening');
  let [connections, ended] = [0, 0];
  node.on('connection', (socket) => {
    connections++;
    socket.on('close', () => ended++);
  });
  onTestFinished(() => {
    for (const socket of node.clients) socket.terminate();
    node.close();
  });
  const url = `ws://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const upstreams = [{ name: 'hostile', websocketUrl: url }];
  const subscriber = await subscriberOf(network(CHAIN_ID, [], { upstreams }));
  void subscriber.call('eth_subscribe', [kind]);
  await eventually(() => ended === 1);
  expect(connections).toBe(1);
});

it('a list with a log that no chain can have is an upstream failure, and another upstream is queried', async () => {
  const chain = new ScriptedChain();
  const [hostile, honest] = await Promise.all([startChainNode(CHAIN_ID, chain), startChainNode(CHAIN_ID, chain)]);
  onTestFinished(async () => {
    await Promise.all([hostile.stop(), honest.stop()]);
  });
  const [address, topic] = [addressOf('a'), hashOf('t')];
  // The bloom filter of the block has all their bits.
  const bad = [
    { topics: Array.from({ length: 300_000 }, () => topic) },
    { topics: [`${topic}zz`] },
    { address: `${address}zz` },
  ];
  const usual = chain.responses()['eth_getLogs'] as (params: unknown) => object[];
  let member: object | undefined;
  hostile.response('eth_getLogs', (params) => usual(params).map((log) => ({ ...log, ...member })));
  const subscriber = await subscriberOf(chainNetwork(CHAIN_ID, [hostile, honest]));
  const notifications = await subscriber.subscribe('logs', {});
  for (const [index, value] of bad.entries()) {
    member = value;
    const { logs } = chain.mine([{ address, topics: [topic] }]);
    await eventually(() => notifications.length === index + 1);
    expect(notifications.at(-1)).toEqual(logs[0]);
  }
});
