import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { chainNetwork, startChainNode, type ChainNode } from './chain-node.ts';
import { addressOf, ScriptedChain } from './scripted-chain.ts';
import { openSubscriber, type Subscriber } from './subscriber.ts';

const chain = new ScriptedChain();
let node: ChainNode;
let gateway: TestGateway;
let subscriber: Subscriber;

beforeAll(async () => {
  node = await startChainNode(7, chain);
  gateway = await startGateway({ seven: chainNetwork(7, [node]) }, { subscriptionsPerKey: '5' });
  subscriber = await openSubscriber(gateway, 'seven');
});
afterAll(async () => {
  subscriber.caller.socket.terminate();
  await gateway.stop();
  await node.stop();
});

const ids = (): string[] => [...subscriber.notifications.keys()];
const end = async (id: string): Promise<unknown> => (await subscriber.call('eth_unsubscribe', [id])).result;
const endAll = (): Promise<unknown> => Promise.all(ids().map(end));
const count = async (kind: string): Promise<number | undefined> =>
  (await readMetrics(gateway.address)).value('gatehouse_subscriptions_open', { kind });

describe('over HTTP', () => {
  it('both methods fail with geth’s errors', async () => {
    const error = { code: -32601, message: 'notifications not supported' };
    expect((await gateway.call('seven', 'eth_subscribe', ['newHeads'])).error).toEqual(error);
    const notFound = { code: -32000, message: 'subscription not found' };
    expect((await gateway.call('seven', 'eth_unsubscribe', ['0x1'])).error).toEqual(notFound);
  });
});

describe('eth_subscribe', () => {
  it.each([
    [[], 'kind: expected newHeads, logs, newPendingTransactions, transactionReceipts or syncing'],
    [[5], 'kind: expected newHeads, logs, newPendingTransactions, transactionReceipts or syncing'],
    [[null], 'kind: expected newHeads, logs, newPendingTransactions, transactionReceipts or syncing'],
    [['logs', { address: '0x12' }], 'filter.address: expected 20-byte address'],
    [['logs', { topics: ['0x12'] }], 'filter.topics[0]: expected 32-byte hash'],
    [['logs', 'all'], 'filter: expected log filter with either blockHash or fromBlock and toBlock'],
    [['logs', true], 'filter: expected log filter'],
    [['newPendingTransactions', {}], 'filter: expected boolean'],
    [['newHeads', null, 1], 'expected at most 2 parameters'],
  ])('%j is rejected', async (params, sentence) => {
    const { error } = await subscriber.call('eth_subscribe', params);
    expect(error).toEqual({ code: -32602, message: `invalid params: ${sentence}` });
  });

  it.each(['newheads', '', 'pendingLogs', 'a"b', 'newHeads '])(
    '%j is an unknown kind, with geth’s error text',
    async (kind) => {
      const { error } = await subscriber.call('eth_subscribe', [kind]);
      const message = `no ${JSON.stringify(kind)} subscription in eth namespace`;
      expect(error).toEqual({ code: -32601, message });
    },
  );

  it('truncates a long kind in the error', async () => {
    const { error } = await subscriber.call('eth_subscribe', ['x'.repeat(10_000)]);
    expect(error).toEqual({ code: -32601, message: `no "${'x'.repeat(100)}" subscription in eth namespace` });
  });

  it('returns unique ids in geth’s format', async () => {
    for (const kind of ['newHeads', 'newHeads', 'logs']) await subscriber.subscribe(kind);
    expect(new Set(ids()).size).toBe(3);
    for (const id of ids()) expect(id).toMatch(/^0x[1-9a-f][0-9a-f]{0,31}$/);
    await endAll();
  });

  it('sends one false for syncing, as a synchronised node does', async () => {
    const notifications = await subscriber.subscribe('syncing');
    await eventually(() => notifications.length === 1);
    expect(notifications).toEqual([false]);
    await endAll();
  });

  it('responds before the first notification, also in a batch with a slow call', async () => {
    const notifications = await subscriber.subscribe('newHeads');
    const caller = await openCaller(socketUrl(gateway, 'seven'));
    let respondToGasPrice: (price: string) => void = () => undefined;
    node.response('eth_gasPrice', () => new Promise((resolve) => (respondToGasPrice = resolve)));
    caller.send(
      JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] },
        { jsonrpc: '2.0', id: 2, method: 'eth_gasPrice', params: [] },
      ]),
    );
    await eventually(() => node.callsOf('eth_gasPrice').length === 1);
    await eventually(async () => (await count('newHeads')) === 2);
    const { header } = chain.mine();
    // The gateway has the block: another subscriber has its notification.
    await eventually(() => notifications.length === 1);
    respondToGasPrice('0x1');
    const [response] = JSON.parse(await caller.next()) as { result: string }[];
    expect(response).toMatchObject({ id: 1, result: expect.stringMatching(/^0x/) as string });
    expect(JSON.parse(await caller.next())).toEqual({
      jsonrpc: '2.0',
      method: 'eth_subscription',
      params: { subscription: response?.result, result: header },
    });
    caller.socket.terminate();
    await endAll();
    await eventually(async () => (await count('newHeads')) === 0);
  });

  it('without an id opens nothing', async () => {
    const before = await count('newHeads');
    subscriber.caller.send('{"jsonrpc":"2.0","method":"eth_subscribe","params":["newHeads"]}');
    await subscriber.call('net_version', []);
    expect(await count('newHeads')).toBe(before);
  });
});

describe('eth_unsubscribe', () => {
  it('ends a subscription once, and of this socket only', async () => {
    const other = await openSubscriber(gateway, 'seven');
    await subscriber.subscribe('newHeads');
    const [id = ''] = ids().slice(-1);
    const error = { code: -32000, message: 'subscription not found' };
    expect((await other.call('eth_unsubscribe', [id])).error).toEqual(error);
    expect(await end(id)).toBe(true);
    expect((await subscriber.call('eth_unsubscribe', [id])).error).toEqual(error);
    other.caller.socket.terminate();
  });

  it('ends the notifications', async () => {
    const open = await subscriber.subscribe('newHeads');
    const ended = await subscriber.subscribe('newHeads');
    await end(ids().at(-1) ?? '');
    chain.mine();
    await eventually(() => open.length === 1);
    expect(ended).toEqual([]);
    await endAll();
  });
});

describe('a key', () => {
  const error = { code: -32005, message: 'too many subscriptions with this project id' };

  it('has one subscription limit for all its sockets, and closing a socket ends its subscriptions', async () => {
    const other = await openSubscriber(gateway, 'seven');
    for (let round = 0; round < 5; round++) await other.subscribe('newHeads');
    expect((await subscriber.call('eth_subscribe', ['newHeads'])).error).toEqual(error);
    other.caller.socket.terminate();
    await eventually(async () => (await count('newHeads')) === 0);
    await subscriber.subscribe('newHeads');
    await endAll();
  });

  it('can open fewer subscriptions with long filters', async () => {
    const address = Array.from({ length: 350 }, (_, index) => addressOf(String(index)));
    await subscriber.subscribe('logs', { address });
    await subscriber.subscribe('newHeads');
    expect((await subscriber.call('eth_subscribe', ['newHeads'])).error).toEqual(error);
    await endAll();
    for (let round = 0; round < 5; round++) await subscriber.subscribe('newHeads');
    await endAll();
  });
});
