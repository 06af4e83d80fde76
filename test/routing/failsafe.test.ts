import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, hang, status, type Exchange } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { rpcError } from '../support/fake-node.ts';
import { hedged, storageParams, withNodes, word, type WithNodes } from './with-nodes.ts';

const never = { UPSTREAM_TIMEOUT_MS: '600000', CALL_TIMEOUT_MS: '600000' };
const storage = 'eth_getStorageAt';

const hedgesStarted = async ({ gateway }: WithNodes): Promise<number> =>
  (await readMetrics(gateway.address)).value('gatehouse_hedges_total', { event: 'started' }) ?? 0;

describe('timeoutMs of a method', () => {
  it('ends its attempts, and not those of other methods', async () => {
    const { nodes, request, send } = await withNodes(2, never, { failsafe: { [storage]: { timeoutMs: 2_000 } } });
    nodes[1]?.response('eth_getBalance', '0x2');
    let other: Exchange | undefined;
    nodes[0]?.always((exchange) => void (other = exchange), 'eth_getBalance');
    nodes[0]?.response('eth_getBalance', '0x1');
    const balance = send('eth_getBalance', [storageParams[0], 'latest']);
    await eventually(() => other !== undefined);
    nodes[0]?.always(hang, storage);
    expect(await request()).toMatchObject({ result: word(2) });
    expect(nodes[1]?.callsOf('eth_getBalance')).toEqual([]);
    if (other !== undefined) asUsual(other);
    expect((await balance).response).toMatchObject({ result: '0x1' });
  });

  it('of an upstream is for its attempts only', async () => {
    const first = { failsafe: { 'eth_get*': { timeoutMs: 100 } } };
    const { nodes, request } = await withNodes(2, never, {}, [first]);
    nodes[0]?.always(hang, storage);
    let second: Exchange | undefined;
    nodes[1]?.always((exchange) => void (second = exchange), storage);
    const call = request();
    await eventually(() => second !== undefined);
    // The second attempt has as much time as it needs.
    await staysTrueFor(300, () => nodes[1]?.callsOf(storage).length === 1 && nodes[0]?.callsOf(storage).length === 1);
    if (second !== undefined) asUsual(second);
    expect(await call).toMatchObject({ result: word(2) });
  });

  it('of 60 s by default leaves half of the time of the call to another upstream, if there is one', async () => {
    const methods = ['eth', 'debug_*'];
    const { nodes, send } = await withNodes(2, { CALL_TIMEOUT_MS: '6000' }, { methods });
    const trace = 'debug_traceBlockByNumber';
    for (const node of nodes) node.response(trace, []);
    expect((await send(trace, ['0x1'])).status).toBe(200);
    nodes[0]?.always(hang, trace);
    const { status: code, response } = await send(trace, ['0x1']);
    expect([code, response]).toMatchObject([200, { result: [] }]);
    // The upstream that hangs had the call first.
    expect(nodes.map((node) => node.callsOf(trace).length)).toEqual([2, 1]);
  });

  it('is bounded by the deadline of the caller', async () => {
    const failsafe = { [storage]: { timeoutMs: 600_000 } };
    const { nodes, send, requestCounts } = await withNodes(2, { ...never, CALL_TIMEOUT_MS: '1500' }, { failsafe });
    expect((await send()).status).toBe(200);
    nodes[0]?.always(hang, storage);
    expect((await send()).status).toBe(503);
    expect(requestCounts()).toEqual([2, 0]);
  });
});

describe('hedgeAfterMs of a method', () => {
  it('hedges its reads after that time, before their usual time is known, and no others', async () => {
    const failsafe = { [storage]: { hedgeAfterMs: 20 } };
    const all = await withNodes(2, never, { failsafe });
    const { nodes, request, send } = all;
    nodes[0]?.always(hang, storage);
    expect(await request()).toMatchObject({ result: word(2) });
    expect(await hedgesStarted(all)).toBe(1);
    let balance: Exchange | undefined;
    nodes[0]?.response('eth_getBalance', '0x1');
    nodes[0]?.always((exchange) => void (balance = exchange), 'eth_getBalance');
    const call = send('eth_getBalance', [storageParams[0], 'latest']);
    await eventually(() => balance !== undefined);
    await staysTrueFor(1_200, () => nodes[1]?.callsOf('eth_getBalance').length === 0);
    if (balance !== undefined) asUsual(balance);
    expect((await call).response).toMatchObject({ result: '0x1' });
  });

  it('of an upstream counts if the first attempt is there; off: no hedge', async () => {
    const keys = [{ failsafe: { [storage]: { hedgeAfterMs: 'off' } } }];
    const all = await withNodes(2, never, { failsafe: { ...hedged.failsafe, [storage]: { hedgeAfterMs: 20 } } }, keys);
    const { nodes, request } = all;
    let first: Exchange | undefined;
    nodes[0]?.always((exchange) => void (first = exchange), storage);
    const call = request();
    await eventually(() => first !== undefined);
    await staysTrueFor(1_200, () => nodes[1]?.callsOf(storage).length === 0);
    if (first !== undefined) asUsual(first);
    expect(await call).toMatchObject({ result: word(1) });
    expect(await hedgesStarted(all)).toBe(0);
  });
});

describe('maxAttempts of a method', () => {
  it('is the maximum of requests for one call', async () => {
    const { nodes, send, requestCounts } = await withNodes(3, never, { failsafe: { 'eth_*': { maxAttempts: 2 } } });
    for (const node of nodes.slice(0, 2)) node.next(status(503), storage);
    expect((await send()).status).toBe(503);
    expect(requestCounts()).toEqual([1, 1, 0]);
  });

  it('makes no method unsupported that another upstream supports', async () => {
    const { nodes, send, requestCounts } = await withNodes(2, never, { failsafe: { [storage]: { maxAttempts: 1 } } });
    nodes[0]?.response(storage, rpcError(-32_601, 'the method does not exist'));
    const { status: first, response } = await send();
    expect([first, response]).toMatchObject([503, { error: { code: -32603 } }]);
    // The first upstream is marked now.
    expect((await send()).response).toMatchObject({ result: word(2) });
    for (const node of nodes) node.response(storage, rpcError(-32_601, 'the method does not exist'));
    await eventually(async () => (await send()).response.error?.code === -32_601);
    expect(requestCounts()[0]).toBe(1);
  });

  it('of 1 also means no hedge and no second request for a null', async () => {
    const failsafe = { [storage]: { maxAttempts: 1, hedgeAfterMs: 10 }, eth_getTransactionByHash: { maxAttempts: 1 } };
    const all = await withNodes(2, never, { failsafe, verify: { nulls: 'always' } });
    const { nodes, request, send, requestCounts } = all;
    let first: Exchange | undefined;
    nodes[0]?.next((exchange) => void (first = exchange), storage);
    const call = request();
    await eventually(() => first !== undefined);
    await staysTrueFor(300, () => requestCounts()[1] === 0);
    if (first !== undefined) asUsual(first);
    expect(await call).toMatchObject({ result: word(1) });
    expect(await hedgesStarted(all)).toBe(0);
    for (const node of nodes) node.response('eth_getTransactionByHash', null);
    // Another upstream could confirm it.
    const { status: unconfirmed, response } = await send('eth_getTransactionByHash', [`0x${'ab'.repeat(32)}`]);
    expect([unconfirmed, response]).toMatchObject([503, { error: { code: -32603 } }]);
    expect(response).not.toHaveProperty('result');
    expect(nodes.map((node) => node.callsOf('eth_getTransactionByHash').length)).toEqual([1, 0]);
  });
});
