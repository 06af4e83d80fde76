import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { packageRoot } from '../../gateway/config/package.ts';
import { readSources } from '../../schemas/read-sources.ts';
import { asUsual, status, type Behaviour } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, type FakeNode, type RpcResponse } from '../support/fake-node.ts';
import type { TestGateway } from '../support/gateway.ts';
import { blockAt, shiftClock, untilHeadsPolled, withNodes, word } from './with-nodes.ts';

const account = `0x${'11'.repeat(20)}`;
const newest = blockAt('0x11').hash;
const unknown = word(77);

/** A parameter of each type that a method with a block has. */
const samples: Readonly<Record<string, (hash: string) => unknown>> = {
  BlockParameter: (blockHash) => ({ blockHash }),
  LogFilter: (blockHash) => ({ blockHash }),
  Hash: (hash) => hash,
  Address: () => account,
  StoragePosition: () => '0x0',
  StoragePositions: () => [],
  StorageRequest: () => ({ [account]: [word(0)] }),
  TransactionCall: () => ({ to: account }),
  Simulation: () => ({ blockStateCalls: [{}] }),
  Boolean: () => false,
  Quantity: () => '0x0',
};

/** The methods of the schemas that can name a block by its hash, and that are sent to upstreams. */
const byHash = readSources(join(packageRoot, 'schemas')).methods.flatMap(({ name, params, ...method }) => {
  if (!/^(eth|linea)_/.test(name) || method['x-gatehouse']?.answer !== undefined) return [];
  const types = params.map(({ schema }) => schema.$ref?.split('/').at(-1) ?? '');
  const at = types.findIndex((type) => ['BlockParameter', 'LogFilter', 'Hash'].includes(type));
  if (at === -1 || 'transaction' in (method['x-gatehouse']?.tracks ?? {})) return [];
  const needed = types.filter((_, index) => index <= at || params[index]?.required === true);
  return [{ method: name, paramsFor: (hash: string) => needed.map((type) => samples[type]?.(hash)) }];
});

const logOf = (blockHash: string) => ({
  ...{ address: account, topics: [], data: '0x', blockNumber: '0x11', blockHash, transactionHash: word(9) },
  ...{ transactionIndex: '0x0', logIndex: '0x0', removed: false },
});
const receiptOf = (blockHash: string) => ({
  ...{ blockHash, blockNumber: '0x11', transactionHash: word(9), transactionIndex: '0x0', type: '0x0', status: '0x1' },
  ...{ from: account, to: account, contractAddress: null, logs: [], logsBloom: `0x${'00'.repeat(256)}` },
  ...{ gasUsed: '0x5208', cumulativeGasUsed: '0x5208', effectiveGasPrice: '0x1' },
});

/** What a node may return for the hash of a block that it lacks, and what one with the block returns. */
const empties: readonly [string, readonly unknown[], unknown, unknown][] = [
  ['eth_getBalance', [account], '0x0', '0x5'],
  ['eth_getTransactionCount', [account], '0x0', '0x5'],
  ['eth_getCode', [account], '0x', '0x60'],
  ['eth_getStorageAt', [account, '0x0'], word(0), word(5)],
  ['eth_call', [{ to: account }], '0x', word(5)],
  ['eth_getStorageValues', [{ [account]: [word(0)] }], { [account]: [word(0)] }, { [account]: [word(5)] }],
];
const casesOf = (hash: string): [string, readonly unknown[], unknown, unknown][] => [
  ...empties.map(([method, params, ...results]): [string, readonly unknown[], unknown, unknown] => [
    method,
    [...params, { blockHash: hash }],
    ...results,
  ]),
  ['eth_getLogs', [{ blockHash: hash }], [], [logOf(hash)]],
  ['eth_getBlockReceipts', [hash], [], [receiptOf(hash)]],
  ['eth_getBlockTransactionCountByHash', [hash], '0x0', '0x5'],
];

/** Two nodes with these heads, which have been polled. */
async function twoAt(first: string, second: string) {
  const all = await withNodes(2, {}, { methods: ['eth', 'linea'] });
  const [one, two] = all.nodes as [FakeNode, FakeNode];
  one.response('eth_getBlockByNumber', blockAt(first));
  two.response('eth_getBlockByNumber', blockAt(second));
  await all.request();
  await untilHeadsPolled(all);
  for (const { calls } of all.nodes) calls.length = 0;
  const read = async (method: string, params: readonly unknown[], ...responses: [RpcResponse, RpcResponse]) => {
    one.response(method, responses[0]);
    two.response(method, responses[1]);
    const { status: code, response } = await all.send(method, params);
    const counts = [one, two].map((node) => node.callsOf(method).length);
    return { status: code, result: response.result, error: response.error, counts };
  };
  return { ...all, one, two, read };
}

const transports: [string, (gateway: TestGateway, calls: readonly object[]) => Promise<unknown>][] = [
  ['alone', (gateway, calls) => Promise.all(calls.map((call) => gateway.post('test', JSON.stringify(call))))],
  ['in a batch', (gateway, calls) => gateway.post('test', JSON.stringify(calls))],
  [
    'over a WebSocket',
    async ({ address, key }, calls) => {
      const socket = new WebSocket(`${address.replace('http', 'ws')}/test/ws/v3/${key}`);
      await once(socket, 'open');
      let responses = 0;
      socket.on('message', () => responses++);
      for (const call of calls) socket.send(JSON.stringify(call));
      await eventually(() => responses === calls.length, 20_000);
      socket.close();
    },
  ],
];

describe('a call that names its block by hash', () => {
  it.each(transports)('is not sent to an upstream that is known to be behind that block: %s', async (_, send) => {
    const { gateway, one, two } = await twoAt('0x10', '0x11');
    // The other one gets the call if this one does not support the method.
    const first = new Set<string>();
    const record: Behaviour = (exchange) => {
      const method = two.calls.at(-1)?.method ?? '';
      if (one.callsOf(method).length === 0) first.add(method);
      asUsual(exchange);
    };
    for (const method of [undefined, 'eth_getBlockByHash']) two.always(record, method);
    const calls = byHash.map(({ method, paramsFor }, id) => ({
      ...{ jsonrpc: '2.0', id, method },
      params: paramsFor(newest),
    }));
    await send(gateway, calls);
    expect([...first]).toContain('eth_getLogs');
    expect(byHash.flatMap(({ method }) => (first.has(method) ? [] : method))).toEqual([]);
  });

  it('is 503 if only an upstream behind that block is left, whose result is empty', async () => {
    const { two, read } = await twoAt('0x10', '0x11');
    for (const [method, params, empty] of casesOf(newest)) {
      two.always(status(503), method);
      expect.soft(await read(method, params, empty, null), method).toMatchObject({ status: 503 });
    }
  });
});

describe('an empty result for an unknown hash of a block, from an upstream that lags,', () => {
  it('is confirmed by another upstream', async () => {
    const { read } = await twoAt('0x10', '0x11');
    for (const [method, params, empty, full] of casesOf(unknown)) {
      expect.soft(await read(method, params, empty, full), method).toMatchObject({ result: full, counts: [1, 1] });
      const another = JSON.parse(JSON.stringify(params).replace(unknown, word(78))) as unknown[];
      expect.soft(await read(method, another, empty, empty), method).toMatchObject({ result: empty, counts: [2, 2] });
    }
  });

  it('is not returned if an upstream at the head has no such block', async () => {
    const { read } = await twoAt('0x10', '0x11');
    const error = { code: -32_000, message: 'unknown block' };
    for (const [method, params, empty] of casesOf(unknown)) {
      const response = await read(method, params, empty, rpcError(error.code, error.message));
      const isLookup = method === 'eth_getBlockTransactionCountByHash';
      const noBlock = { error: { message: expect.stringContaining(error.message) as string } };
      expect.soft(response, method).toMatchObject(isLookup ? { status: 200, result: null } : noBlock);
    }
  });
});

it('an empty result for the hash of a block stays if the head of its upstream only advances, and another one has an error', async () => {
  const clock = shiftClock();
  const all = await twoAt('0x11', '0x11');
  const error = rpcError(-32_000, 'unknown block');
  for (const [index, [method, params, empty]] of casesOf(unknown).entries()) {
    all.one.next(async (exchange) => {
      for (const node of all.nodes) node.response('eth_getBlockByNumber', blockAt(`0x${(0x12 + index).toString(16)}`));
      clock.forward(5_000);
      await all.request();
      await untilHeadsPolled(all, index + 2);
      asUsual(exchange);
    }, method);
    expect.soft(await all.read(method, params, empty, error), method).toMatchObject({ status: 200, result: empty });
  }
  expect(all.two.callsOf('eth_getLogs').length).toBe(1);
});

it('an empty result for the hash of a block is final if its upstream is at the head', async () => {
  const { read } = await twoAt('0x11', '0x10');
  for (const hash of [newest, unknown])
    for (const [method, params, empty] of casesOf(hash))
      expect.soft(await read(method, params, empty, null), method).toMatchObject({ status: 200, result: empty });
});

it('an empty result for the hash of a block is final if its upstream has that block, and lags', async () => {
  const clock = shiftClock();
  const all = await twoAt('0x11', '0x11');
  all.two.response('eth_getBlockByNumber', { ...blockAt('0x12'), parentHash: newest });
  clock.forward(15_100);
  await all.request();
  await untilHeadsPolled(all, 2);
  for (const { calls } of all.nodes) calls.length = 0;
  for (const [method, params, empty] of casesOf(newest))
    expect.soft(await all.read(method, params, empty, null), method).toMatchObject({ result: empty, counts: [1, 0] });
});
