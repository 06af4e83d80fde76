import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, type FakeNode, type RpcResponse } from '../support/fake-node.ts';
import { shiftClock, storageParams, withNodes, word } from '../routing/with-nodes.ts';

const unsupported = rpcError(-32_601, 'the method is not available');

it('an upstream that does not support a method gets no calls of it for ten minutes', async () => {
  const clock = shiftClock();
  const { nodes, request, requestCounts } = await withNodes(2);
  nodes[0]?.response('eth_getStorageAt', unsupported);
  for (let times = 0; times < 3; times++) expect(await request()).toMatchObject({ result: word(2) });
  expect(requestCounts()).toEqual([1, 3]);
  clock.forward(590_000);
  await request();
  expect(requestCounts()).toEqual([1, 4]);
  nodes[0]?.response('eth_getStorageAt', word(1));
  clock.forward(20_000);
  expect(await request()).toMatchObject({ result: word(1) });
});

it('an upstream that does not support a method gets calls of other methods', async () => {
  const { nodes, request, gateway } = await withNodes(2);
  nodes[0]?.response('eth_getStorageAt', unsupported);
  for (const node of nodes) node.response('eth_getTransactionReceipt', null);
  await request();
  await gateway.call('test', 'eth_getTransactionReceipt', [word(1)]);
  expect(nodes[0]?.callsOf('eth_getTransactionReceipt')).toHaveLength(1);
});

it('an upstream that does not support a method gets calls of it if the others fail', async () => {
  const { nodes, request, requestCounts } = await withNodes(2);
  nodes[0]?.response('eth_getStorageAt', unsupported);
  await request();
  nodes[0]?.response('eth_getStorageAt', word(1));
  nodes[1]?.always(status(503));
  expect(await request()).toMatchObject({ result: word(1) });
  expect(requestCounts()).toEqual([2, 2]);
});

it('a method that no upstream supports is -32601, and each call asks all of them', async () => {
  const { nodes, send, requestCounts } = await withNodes(2);
  const codeOf = async () => (await send()).response.error?.code;
  for (const node of nodes) node.response('eth_getStorageAt', unsupported);
  for (let times = 0; times < 3; times++) expect(await codeOf()).toBe(-32_601);
  expect(requestCounts()).toEqual([3, 3]);
  nodes[1]?.response('eth_getStorageAt', word(2));
  for (let times = 0; times < 3; times++) expect((await send()).response.result).toBe(word(2));
  // The second one has lost its mark, so that it is first.
  expect(requestCounts()).toEqual([4, 6]);
});

describe.each([1, 2, 3])('with %i upstreams', (count) => {
  /** Like a node that does not support the tag `safe` in an estimate. */
  const estimate = (error: RpcResponse) => (params: readonly unknown[]) => (params[1] === 'safe' ? error : '0x5208');
  const call = { to: storageParams[0] };

  it.each([
    [-32_601, 'the method eth_estimateGas does not exist/is not available'],
    [-32_004, 'the block tag is not supported'],
  ])('a call that they do not support (%i) does not decide for the next call', async (code, message) => {
    const { nodes, send, gateway } = await withNodes(count);
    for (const node of nodes) node.response('eth_estimateGas', estimate(rpcError(code, message)));
    for (let times = 0; times < 5; times++) {
      const refused = await send('eth_estimateGas', [{ ...call, value: `0x${(times + 1).toString(16)}` }, 'safe']);
      expect([refused.status, refused.response.error?.code]).toEqual([200, -32_601]);
      const other = await gateway.call('test', 'eth_estimateGas', [{ ...call, gas: `0x520${times}` }]);
      expect(other).toMatchObject({ result: '0x5208' });
    }
  });

  it('calls that they do not support, at once, do not decide for others', async () => {
    const { nodes, send } = await withNodes(count);
    for (const node of nodes) node.response('eth_estimateGas', estimate(unsupported));
    const calls = Array.from({ length: 40 }, async (_, index) => {
      const params = [{ ...call, value: `0x${(index + 1).toString(16)}` }, ...(index % 2 === 0 ? ['safe'] : [])];
      const { response } = await send('eth_estimateGas', params);
      return response.result ?? response.error?.code;
    });
    expect(await Promise.all(calls)).toEqual(calls.map((_, index) => (index % 2 === 0 ? -32_601 : '0x5208')));
  });
});

it.each([
  [1, -32_601, 'the method eth_getTransactionReceipt does not exist/is not available'],
  [2, -32_601, 'Method not available at the moment'],
  [2, -32_004, 'method not supported'],
])(
  'one error of %i upstreams (%i %s) does not mark a method that was successful before',
  async (count, code, message) => {
    const { nodes, send } = await withNodes(count);
    const receipt = { transactionHash: word(7), blockHash: word(8), blockNumber: '0x1', status: '0x1' };
    const request = async () => (await send('eth_getTransactionReceipt', [word(7)])).response;
    for (const node of nodes) node.response('eth_getTransactionReceipt', receipt);
    expect((await request()).result).toMatchObject(receipt);
    // The second has no success of the method: its error would mark it.
    nodes[0]?.response('eth_getTransactionReceipt', rpcError(code, message));
    const given = await request();
    if (count === 1) expect(given.error?.code).toBe(-32_601);
    else expect(given.result).toMatchObject(receipt);
    nodes[0]?.response('eth_getTransactionReceipt', receipt);
    expect((await request()).result).toMatchObject(receipt);
    expect(nodes.map((node) => node.callsOf('eth_getTransactionReceipt').length)).toEqual(count === 1 ? [3] : [3, 1]);
  },
);

it('a marked upstream that responds gets the call when the others are half-open and the retry budget is exhausted', async () => {
  const clock = shiftClock();
  // Calls are held until all of them have arrived.
  const all = await withNodes(3, { UPSTREAM_TIMEOUT_MS: '60000', CALL_TIMEOUT_MS: '60000' });
  const [marked, second, third] = all.nodes as [FakeNode, FakeNode, FakeNode];
  marked.response('eth_getStorageAt', { not: 'a word' });
  expect(await all.requestOld()).toMatchObject({ result: word(2) });
  // Fifty calls go from the second to the third, which exhausts the budget.
  const held: Exchange[] = [];
  second.always((exchange) => void held.push(exchange));
  const calls = Array.from({ length: 50 }, all.requestOld);
  await eventually(() => held.length === 50);
  for (const exchange of held) void status(503)(exchange);
  for (const response of await Promise.all(calls)) expect(response).toMatchObject({ result: word(3) });
  for (const node of [second, third]) node.always(status(503));
  for (let times = 0; times < 3; times++) await all.requestOld();
  const rejected = async (): Promise<number> => {
    const { value } = await readMetrics(all.gateway.address);
    return value('gatehouse_retry_budget_exhausted_total', { what: 'retry' }) ?? 0;
  };
  const rejectedBefore = await rejected();
  marked.response('eth_getStorageAt', word(1));
  clock.forward(1_100);
  for (const node of all.nodes) node.calls.length = 0;
  expect(await all.requestOld()).toMatchObject({ result: word(1) });
  expect(all.requestCounts()).toEqual([1, 1, 0]);
  expect(await rejected()).toBe(rejectedBefore + 1);
});

it('marks are on the status page until a call of the method is successful', async () => {
  const clock = shiftClock();
  const { nodes, request, gateway } = await withNodes(2);
  const marksOf = async () => {
    // The page is cached for a second.
    clock.forward(1_000);
    const response = await fetch(`${gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: { upstreams: { marks: unknown[] }[] }[] };
    return networks[0]?.upstreams.map(({ marks }) => marks);
  };
  expect(await marksOf()).toEqual([[], []]);
  nodes[0]?.response('eth_getStorageAt', unsupported);
  await request();
  expect(await marksOf()).toEqual([[{ method: 'eth_getStorageAt', reason: 'unsupported', forS: 599 }], []]);
  nodes[0]?.response('eth_getStorageAt', word(1));
  nodes[1]?.always(status(503));
  expect(await request()).toMatchObject({ result: word(1) });
  expect(await marksOf()).toEqual([[], []]);
});

it('an upstream with an impossible result is skipped for that method for 30 s', async () => {
  const clock = shiftClock();
  const { nodes, request, send, requestCounts } = await withNodes(2);
  for (const node of nodes) node.response('eth_gasPrice', '0x1');
  nodes[0]?.response('eth_getStorageAt', { not: 'a word' });
  for (let times = 0; times < 3; times++) expect(await request()).toMatchObject({ result: word(2) });
  expect(requestCounts()).toEqual([1, 3]);
  await send('eth_gasPrice', []);
  expect(requestCounts()).toEqual([2, 3]);
  nodes[0]?.response('eth_getStorageAt', word(1));
  clock.forward(31_000);
  expect(await request()).toMatchObject({ result: word(1) });
});
