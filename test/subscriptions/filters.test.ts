import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually, SOON_MS } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { addressOf, hashOf, ScriptedChain } from './scripted-chain.ts';

const chain = new ScriptedChain();
const token = addressOf('token');
const transfer = { address: token, topics: [hashOf('Transfer')] };
const notFound = { code: -32_000, message: 'filter not found' };
let nodes: FakeNode[];
let gateway: TestGateway;

beforeAll(async () => {
  const start = () => startFakeNode({ chainId: 7, responses: chain.responses() });
  nodes = await Promise.all([start(), start()]);
  gateway = await startGateway({
    seven: network(
      7,
      nodes.map(({ url }) => url),
    ),
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

async function result(method: string, ...params: unknown[]): Promise<unknown> {
  const { result: value, error } = await gateway.call('seven', method, params);
  expect(error).toBeUndefined();
  return value;
}

/** Polls until there are `count` changes. */
async function changes(id: unknown, count: number): Promise<unknown[]> {
  const all: unknown[] = [];
  await eventually(async () => {
    all.push(...((await result('eth_getFilterChanges', id)) as unknown[]));
    return all.length >= count;
  });
  return all;
}

describe('a filter', () => {
  it('for blocks returns each hash once', async () => {
    const id = await result('eth_newBlockFilter');
    expect(id).toMatch(/^0x[1-9a-f][0-9a-f]{0,31}$/);
    const mined = [chain.mine(), chain.mine()].map(({ header }) => header.hash);
    expect(await changes(id, 2)).toEqual(mined);
    expect(await result('eth_getFilterChanges', id)).toEqual([]);
    expect(await result('eth_uninstallFilter', id)).toBe(true);
    expect(await result('eth_uninstallFilter', id)).toBe(false);
    expect((await gateway.call('seven', 'eth_getFilterChanges', [id])).error).toEqual(notFound);
  });

  it('for logs returns matching logs, and those of removed blocks with removed: true', async () => {
    const id = await result('eth_newFilter', { address: token, topics: [[hashOf('Transfer')]] });
    const { logs } = chain.mine([transfer, { address: addressOf('other'), topics: [] }]);
    expect(await changes(id, 1)).toEqual(logs.slice(0, 1));
    chain.removeBlocks(1);
    const again = [chain.mine([transfer]), chain.mine()];
    expect(await changes(id, 2)).toEqual([{ ...logs[0], removed: true }, ...(again[0]?.logs ?? [])]);
  });

  it('without changes is polled without a wait', async () => {
    const id = await result('eth_newFilter', { address: token });
    // What was mined before is delivered.
    expect(await result('eth_getFilterChanges', id)).toEqual([]);
    await withoutTime(async () => {
      for (let polls = 0; polls < 40; polls++) expect(await result('eth_getFilterChanges', id)).toEqual([]);
    });
  });

  it('has no gap after an upstream failure', async () => {
    const id = await result('eth_newFilter', { address: token });
    const before = chain.mine([transfer]);
    await changes(id, 1).then((logs) => {
      expect(logs).toEqual(before.logs);
    });
    await nodes[0]?.refuse();
    const after = [chain.mine([transfer]), chain.mine([transfer])];
    expect(await changes(id, 2)).toEqual(after.flatMap(({ logs }) => logs));
    await nodes[0]?.listen();
  });

  it.each(['eth_newBlockFilter', 'eth_newFilter'])('of %s is not found after a gap', async (method) => {
    const id = await result(method, ...(method === 'eth_newFilter' ? [{ address: token }] : []));
    // More blocks than are fetched.
    for (let mined = 0; mined < 600; mined++) chain.mine();
    await eventually(async () => (await gateway.call('seven', 'eth_getFilterChanges', [id])).error !== undefined);
    expect((await gateway.call('seven', 'eth_getFilterChanges', [id])).error).toEqual(notFound);
  });

  it('for logs returns all matching logs, as eth_getLogs does', async () => {
    const hash = `0x${'ab'.repeat(32)}`;
    const place = {
      blockHash: hash,
      blockNumber: '0x1',
      transactionHash: hash,
      transactionIndex: '0x0',
      logIndex: '0x0',
    };
    const all = [{ address: token, ...place }];
    for (const node of nodes) node.response('eth_getLogs', all);
    const filter = { address: token, fromBlock: 'earliest' };
    const id = await result('eth_newFilter', filter);
    expect(await result('eth_getFilterLogs', id)).toEqual(await result('eth_getLogs', filter));
    const requested = nodes.flatMap((node) => node.callsOf('eth_getLogs').map(({ params }) => params));
    expect(requested.filter((params) => JSON.stringify(params) === JSON.stringify([filter]))).toHaveLength(2);
    for (const node of nodes) node.response('eth_getLogs', chain.responses()['eth_getLogs']);
    const blocks = await result('eth_newBlockFilter');
    expect((await gateway.call('seven', 'eth_getFilterLogs', [blocks])).error).toEqual(notFound);
  });

  it('is found by its own key only', async () => {
    const id = await result('eth_newBlockFilter');
    const key = makeKey();
    await gateway.gateway.keys.add(digestOf(key), { name: 'other', createdAt: new Date().toISOString() });
    for (const [method, expected] of [
      ['eth_getFilterChanges', { error: notFound }],
      ['eth_uninstallFilter', { result: false }],
    ] as const) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [id] });
      const response = await fetch(`${gateway.address}/seven/v3/${key}`, { method: 'POST', body });
      expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, ...expected });
    }
    expect(await result('eth_uninstallFilter', id)).toBe(true);
  });

  it('for logs is rejected after its key was restricted to other contracts', async () => {
    const id = await result('eth_newFilter', { address: token });
    const { keys } = gateway.gateway;
    const keyId = keyIdOf(digestOf(gateway.key));
    const error = { code: -32_002, message: 'rejected due to project ID settings' };
    onTestFinished(() => keys.update(keyId, { contracts: undefined }).then(() => undefined));
    await keys.update(keyId, { contracts: addressOf('other') });
    for (const method of ['eth_getFilterChanges', 'eth_getFilterLogs']) {
      await eventually(async () => (await gateway.call('seven', method, [id])).error !== undefined, SOON_MS);
      expect((await gateway.call('seven', method, [id])).error).toEqual(error);
    }
    await keys.update(keyId, { contracts: token });
    await eventually(
      async () => (await gateway.call('seven', 'eth_getFilterChanges', [id])).error === undefined,
      SOON_MS,
    );
    expect(await result('eth_getFilterChanges', id)).toEqual([]);
  });

  it('for logs charges eth_getFilterLogs to the rate of eth_getLogs', async () => {
    for (const node of nodes) node.response('eth_getLogs', []);
    onTestFinished(() => {
      for (const node of nodes) node.response('eth_getLogs', chain.responses()['eth_getLogs']);
    });
    const key = makeKey();
    const permissions = { methodRates: 'eth_getLogs=0.001' };
    await gateway.gateway.keys.add(digestOf(key), { name: 'rated', createdAt: new Date().toISOString(), permissions });
    const send = async (method: string, param: unknown): Promise<{ status: number; result: unknown }> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [param] });
      const response = await fetch(`${gateway.address}/seven/v3/${key}`, { method: 'POST', body });
      const { result } = (await response.json()) as { result?: unknown };
      return { status: response.status, result };
    };
    const { result: id } = await send('eth_newFilter', { address: token });
    expect(await send('eth_getFilterLogs', id)).toEqual({ status: 200, result: [] });
    expect((await send('eth_getFilterLogs', id)).status).toBe(429);
    expect((await send('eth_getFilterChanges', id)).status).toBe(200);
  });

  it('is removed when its key has 500 newer ones, the least recently polled first', async () => {
    const [first, second] = [await result('eth_newBlockFilter'), await result('eth_newBlockFilter')];
    const create = (): Promise<unknown> => result('eth_newBlockFilter');
    await Promise.all(Array.from({ length: 498 }, create));
    await result('eth_getFilterChanges', first);
    await create();
    await result('eth_getFilterChanges', first);
    expect((await gateway.call('seven', 'eth_getFilterChanges', [second])).error).toEqual(notFound);
  });

  it('is rejected if it has too many addresses', async () => {
    const address = Array.from({ length: 2_000 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`);
    const { error } = await gateway.call('seven', 'eth_newFilter', [{ address }]);
    expect(error).toMatchObject({ code: -32602 });
  });

  it.each([
    ['eth_newFilter', [], 'filter: expected log filter with either blockHash or fromBlock and toBlock'],
    [
      'eth_newFilter',
      [{ blockHash: hashOf('x') }],
      'filter: expected no blockHash: only logs of new blocks are delivered',
    ],
    ['eth_newBlockFilter', [1], 'expected no parameters'],
    ['eth_getFilterChanges', ['x'], 'filter: expected filter id'],
  ])('%s %j is rejected', async (method, params, sentence) => {
    const { error } = await gateway.call('seven', method, params);
    expect(error).toEqual({ code: -32602, message: `invalid params: ${sentence}` });
  });
});
