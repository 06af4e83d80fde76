import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/** Bytes of a hostile result: more than are checked in one step. */
const BYTES = 1_200_000;
const repeated = (piece: string): string => piece.repeat(BYTES / piece.length);

/** Forms of JSON with very many values. */
const forms: Readonly<Record<string, string>> = {
  objects: `[${repeated('{},')}1]`,
  lists: `[${repeated('[],')}1]`,
  texts: `[${repeated('"a",')}1]`,
  numbers: `[${repeated('0,')}1]`,
  names: `{${Array.from({ length: BYTES / 10 }, (_, index) => `"k${index}":1`).join()}}`,
  'one name': `{${repeated('"a":1,')}"a":1}`,
  'nested objects': `[${repeated('{"a":[{}]},')}1]`,
  'nested lists': `${'['.repeat(BYTES / 2)}${']'.repeat(BYTES / 2)}`,
};

const hash = `0x${'ab'.repeat(32)}`;
const address = `0x${'cd'.repeat(20)}`;
const place = { blockHash: hash, blockNumber: '0x10', transactionIndex: '0x0', transactionHash: hash };
const log = { ...place, address, data: '0x', logIndex: '0x0', removed: false, topics: [hash] };
const receipt = {
  ...{ ...place, from: address, to: address, contractAddress: null, cumulativeGasUsed: '0x1', gasUsed: '0x1' },
  ...{ effectiveGasPrice: '0x1', logs: [log], logsBloom: `0x${'00'.repeat(256)}`, status: '0x1', type: '0x0' },
};
/** Methods of every kind, with an honest result. */
const methods: Readonly<Record<string, { params: readonly unknown[]; result: unknown }>> = {
  eth_getStorageAt: { params: [address, '0x0', 'latest'], result: hash },
  eth_getBalance: { params: [address, 'latest'], result: '0x1' },
  eth_call: { params: [{ to: address }, 'latest'], result: '0x01' },
  eth_estimateGas: { params: [{ to: address }], result: '0x5208' },
  eth_getTransactionReceipt: { params: [hash], result: receipt },
  eth_getLogs: { params: [{ fromBlock: '0x1', toBlock: '0x1' }], result: [log] },
  eth_getBlockReceipts: { params: ['0x10'], result: [receipt] },
};

let bad: FakeNode;
let good: FakeNode;
let gateway: TestGateway;
let asked = 0;

beforeAll(async () => {
  bad = await startFakeNode({ chainId: 5 });
  good = await startFakeNode({ chainId: 5 });
  for (const [name, { result }] of Object.entries(methods)) good.response(name, result);
  const upstreams = [
    { name: 'bad', url: bad.url, batch: false },
    { name: 'good', url: good.url, batch: false, priority: 1 },
  ];
  const routed = { chainId: 5, name: 'Test', upstreams, methods: ['eth', 'debug_*'] };
  gateway = await startGateway({ test: routed, alone: network(5, [bad.url], { methods: ['eth', 'debug_*'] }) });
});

afterEach(() => {
  vi.restoreAllMocks();
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([bad.close(), good.close()]);
});

/** The largest number of values that JSON.parse gets from now on, about. */
function countParsed(): () => number {
  const parse = vi.spyOn(JSON, 'parse');
  const valuesIn = (text: string): number => text.length - text.replaceAll(/[,[{]/g, '').length;
  return () => Math.max(...parse.mock.calls.map(([text]) => valuesIn(String(text))));
}

/** Another block of its own for each call, so that no response is cached. */
const fresh = (params: readonly unknown[]): unknown[] =>
  params.map((param) => (param === 'latest' ? `0x${(++asked).toString(16)}` : param));

describe.each(Object.entries(methods))('%s', (method, { params, result }) => {
  it.each(Object.entries(forms))('goes to another upstream if one returns very many values: %s', async (_, form) => {
    bad.always(({ id, response }) => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${form}}`), method);
    const parsed = countParsed();
    const response = await gateway.call('test', method, fresh(params));
    expect(parsed()).toBeLessThan(20_000);
    expect(response.result).toEqual(result);
  });

  it.each(Object.entries(forms))('goes to another upstream if an error has very many values: %s', async (_, form) => {
    const error = `{"code":-32000,"message":"x","data":${form}}`;
    bad.always(({ id, response }) => response.end(`{"jsonrpc":"2.0","id":${String(id)},"error":${error}}`), method);
    const parsed = countParsed();
    const response = await gateway.call('test', method, fresh(params));
    expect(parsed()).toBeLessThan(20_000);
    expect(response.result).toEqual(result);
  });
});

it.each(Object.entries(forms))('a member of the envelope with very many values is not parsed: %s', async (_, form) => {
  const { params } = methods['eth_call'] as { params: unknown[] };
  bad.always(
    ({ id, response }) => response.end(`{"jsonrpc":"2.0","x":${form},"id":${String(id)},"result":"0x05"}`),
    'eth_call',
  );
  const parsed = countParsed();
  await gateway.call('test', 'eth_call', fresh(params));
  expect(parsed()).toBeLessThan(20_000);
});
