import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { shiftClock } from '../routing/with-nodes.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { inLongRun } from '../support/long-run.ts';

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
  eth_getLogs: { params: [{ fromBlock: '0x10', toBlock: '0x10' }], result: [log] },
  eth_getBlockReceipts: { params: ['0x10'], result: [receipt] },
};

let bad: FakeNode;
let good: FakeNode;
let socket: FakeWebSocketNode;
let gateway: TestGateway;
let asked = 0;
const used: Record<string, number> = {};
/** A network that no other test uses. */
const next = (kind: 'http' | 'batch' | 'socket'): string => `${kind}-${(used[kind] = (used[kind] ?? -1) + 1)}`;

beforeAll(async () => {
  bad = await startFakeNode({ chainId: 5 });
  good = await startFakeNode({ chainId: 5 });
  for (const [name, { result }] of Object.entries(methods)) good.response(name, result);
  socket = await startFakeWebSocketNode(5);
  const goodOnly = { name: 'good', url: good.url, batch: false, priority: 1 };
  const networkOf = (first: object): object => ({
    ...{ chainId: 5, name: 'Test', methods: ['eth', 'debug_*'], upstreams: [first, goodOnly] },
  });
  // Each test has a network of its own, whose circuits are closed.
  const networks = (kind: string, count: number, first: object): [string, object][] =>
    Array.from({ length: count }, (_, index) => [`${kind}-${index}`, networkOf(first)]);
  gateway = await startGateway(
    Object.fromEntries([
      ...networks('http', 161, { name: 'bad', url: bad.url, batch: false }),
      ...networks('batch', 11, { name: 'bad', url: bad.url }),
      ...networks('socket', 33, { name: 'bad', websocketUrl: socket.url }),
    ]),
  );
});

afterEach(() => {
  vi.restoreAllMocks();
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([bad.close(), good.close(), socket.stop()]);
});

/** The largest number of values that JSON.parse gets from now on, about. */
function countParsed(): () => number {
  const parse = vi.spyOn(JSON, 'parse');
  const valuesIn = (text: string): number => text.length - text.replaceAll(/[,[{]/g, '').length;
  return () => Math.max(...parse.mock.calls.map(([text]) => valuesIn(text)));
}

/** Another block of its own for each call, so that no response is cached. */
const fresh = (params: readonly unknown[]): unknown[] =>
  params.map((param) => (param === 'latest' ? `0x${(++asked).toString(16)}` : param));

/** Methods whose results are a text, an object and a list; in the long run all. */
const kinds = Object.entries(methods).filter(([name]) =>
  inLongRun(true, ['eth_getStorageAt', 'eth_getTransactionReceipt', 'eth_getLogs'].includes(name)),
);

describe.each(kinds)('%s', (method, { params, result }) => {
  it.each(Object.entries(forms))('goes to another upstream if one returns very many values: %s', async (_, form) => {
    bad.always(
      ({ id, response }) => void response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${form}}`),
      method,
    );
    const parsed = countParsed();
    const before = bad.callsOf(method).length;
    const response = await gateway.call(next('http'), method, fresh(params));
    expect(parsed()).toBeLessThan(20_000);
    expect(bad.callsOf(method).length).toBe(before + 1);
    expect(response.result).toEqual(result);
  });

  it.each(Object.entries(forms))('goes to another upstream if an error has very many values: %s', async (_, form) => {
    const error = `{"code":-32000,"message":"x","data":${form}}`;
    bad.always(
      ({ id, response }) => void response.end(`{"jsonrpc":"2.0","id":${String(id)},"error":${error}}`),
      method,
    );
    const parsed = countParsed();
    const before = bad.callsOf(method).length;
    const response = await gateway.call(next('http'), method, fresh(params));
    expect(parsed()).toBeLessThan(20_000);
    expect(bad.callsOf(method).length).toBe(before + 1);
    expect(response.result).toEqual(result);
  });
});

describe.each(Object.entries(forms))('%s', (_, form) => {
  it('beside a result are not parsed', async () => {
    bad.always(
      ({ id, response }) => void response.end(`{"jsonrpc":"2.0","x":${form},"id":${String(id)},"result":"0x05"}`),
      'eth_getCode',
    );
    good.response('eth_getCode', '0x05');
    const parsed = countParsed();
    const before = bad.callsOf('eth_getCode').length;
    const { result } = await gateway.call(next('http'), 'eth_getCode', fresh([address, 'latest']));
    expect(parsed()).toBeLessThan(20_000);
    expect(bad.callsOf('eth_getCode').length).toBe(before + 1);
    expect(result).toBe('0x05');
  });

  it('in an item of an upstream batch are not parsed, and all calls are served', async () => {
    // No time slice ends, so that the calls stay together on a slow machine, too.
    shiftClock();
    bad.always(({ id, response, text }) => {
      response.end(text.startsWith('[') ? `[{"jsonrpc":"2.0","id":${String(id)},"result":${form}}]` : text);
    }, 'eth_getBalance');
    bad.response('eth_getBalance', '0x1');
    const calls = [1, 2, 3].map((id) => ({
      ...{ jsonrpc: '2.0', id, method: 'eth_getBalance' },
      params: fresh([address, 'latest']),
    }));
    const parsed = countParsed();
    const batched = (): number => bad.callsOf('eth_getBalance').filter(({ body }) => body.startsWith('[')).length;
    const before = batched();
    const response = await gateway.post(next('batch'), JSON.stringify(calls));
    const text = await response.text();
    expect(parsed()).toBeLessThan(20_000);
    expect(batched()).toBe(before + calls.length);
    expect(text.match(/"result":"0x1"/g)).toHaveLength(3);
  });

  it.each([
    ['as a result', (id: number) => `{"jsonrpc":"2.0","id":${id},"result":${form}}`],
    ['before the id', (id: number) => `{"x":${form},"id":${id},"result":${form},"y":1}`],
    ['without an envelope', () => form],
  ])('over WebSocket are not parsed: %s', async (__, textFor) => {
    socket.onCall(({ id, sendText }) => {
      sendText(textFor(id));
    });
    const parsed = countParsed();
    const received = (): number => socket.calls.filter(({ method }) => method === 'eth_getStorageAt').length;
    const before = received();
    const { result } = await gateway.call(next('socket'), 'eth_getStorageAt', fresh([address, '0x0', 'latest']));
    expect(parsed()).toBeLessThan(20_000);
    expect(received()).toBe(before + 1);
    expect(result).toBe(hash);
  });
});

describe('an honest receipt of 23,000 logs', () => {
  const logs = Array.from({ length: 23_000 }, () => ({ ...log, topics: [], blockTimestamp: '0x1' }));
  const text = JSON.stringify({ ...receipt, logs });
  const call = (id: number): object => ({ jsonrpc: '2.0', id, method: 'eth_getTransactionReceipt', params: [hash] });

  it('is passed on, alone', async () => {
    bad.always(
      ({ id, response }) => void response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":${text}}`),
      'eth_getTransactionReceipt',
    );
    const response = await gateway.post(next('http'), JSON.stringify(call(1)));
    expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":1,"result":${text}}`);
  });

  it('is passed on, in a batch', async () => {
    bad.always(({ response, text: given }) => {
      const ids = (JSON.parse(given) as { id: number }[]).map(({ id }) => id);
      response.end(`[${ids.map((id) => `{"jsonrpc":"2.0","id":${id},"result":${text}}`).join()}]`);
    }, 'eth_getTransactionReceipt');
    const other = { ...call(2), method: 'eth_getBalance', params: fresh([address, 'latest']) };
    // Calls that begin within a slice of 0.5 ms go up together.
    const response = await withoutTime(() => gateway.post(next('batch'), JSON.stringify([call(1), other])));
    const results = (await response.json()) as { result: typeof receipt }[];
    expect(results[0]?.result.logs).toHaveLength(logs.length);
  });

  it('is passed on, over WebSocket', async () => {
    socket.onCall(({ id, sendText }) => {
      sendText(`{"jsonrpc":"2.0","id":${id},"result":${text}}`);
    });
    const response = await gateway.post(next('socket'), JSON.stringify(call(1)));
    expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":1,"result":${text}}`);
  });
});

it.each([
  ['an honest trace of 12 MB', [1_500_000, '"0x0",'], 'a trace'],
  ['the values of a hostile response', [1_500_000, '{},'], 'another upstream'],
] as const)('over WebSocket, %s in an unusual envelope fail no other call', async (_, [count, piece], served) => {
  const other: { respond?: () => void } = {};
  socket.onCall(({ id, method, respond, sendText }) => {
    if (method === 'eth_getStorageAt') other.respond = respond;
    else sendText(`{"jsonrpc":"2.0","x":[],"y":{},"result":[${piece.repeat(count)}"0x1"],"z":0,"id":${id}}`);
  });
  good.response('debug_traceTransaction', []);
  const network = next('socket');
  const waiting = gateway.call(network, 'eth_getStorageAt', [address, '0x7', '0x10']);
  await eventually(() => other.respond !== undefined);
  const { result } = await gateway.call(network, 'debug_traceTransaction', [hash]);
  if (served === 'a trace') expect(result).toHaveLength(count + 1);
  other.respond?.();
  expect((await waiting).result).toBe(`0x${'7'.padStart(64, '0')}`);
});
