import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, hang, slow, status, type Behaviour, type Exchange } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { rpcError } from '../support/fake-node.ts';
import { hedged, shiftClock, withNodes, word, type WithNodes } from './with-nodes.ts';

const send = 'eth_sendRawTransaction';
const withHedges = (count: number, env: Record<string, string> = {}, more: object = {}): Promise<WithNodes> =>
  withNodes(count, env, { ...hedged, ...more });

/** Sends 20 calls, so that the latency of the method is known. */
async function warm({ request, nodes }: WithNodes): Promise<void> {
  for (let times = 0; times < 5; times++) await Promise.all([request(), request(), request(), request()]);
  for (const node of nodes) node.calls.length = 0;
}

/** Behaviour that never responds; `isClosed` is whether the gateway has closed the connection. */
function hangUntilClosed(): { behaviour: Behaviour; isClosed: () => boolean } {
  let isClosed = false;
  return {
    behaviour: ({ response }) => void response.on('close', () => (isClosed = true)),
    isClosed: () => isClosed,
  };
}

describe('a call that takes longer than its method usually does', () => {
  it('is hedged; the response of the hedge is used, and the first attempt is cancelled', async () => {
    const all = await withHedges(2);
    await warm(all);
    const startedBefore = await hedgesStarted(all);
    const hung = hangUntilClosed();
    all.nodes[0]?.next(hung.behaviour);
    expect(await all.request()).toMatchObject({ result: word(2) });
    await eventually(hung.isClosed);
    expect(all.requestCounts()).toEqual([1, 1]);
    const { value } = await readMetrics(all.gateway.address);
    // On a slow machine some of the calls before were hedged as well.
    expect(value('gatehouse_hedges_total', { event: 'started' })).toBe(startedBefore + 1);
    expect(value('gatehouse_hedges_total', { event: 'won' })).toBeGreaterThanOrEqual(1);
    expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'cancelled' })).toBeGreaterThan(0);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    expect(value('gatehouse_failovers_total')).toBeUndefined();
  });

  it('has the response of the first attempt if that is sooner, and the hedge is cancelled', async () => {
    const all = await withHedges(2);
    await warm(all);
    const lost = async (): Promise<number> =>
      (await readMetrics(all.gateway.address)).value('gatehouse_hedges_total', { event: 'lost' }) ?? 0;
    // On a slow machine some of the calls before were hedged as well.
    const lostBefore = await lost();
    const hung = hangUntilClosed();
    all.nodes[1]?.always(hung.behaviour);
    let response: () => void = () => undefined;
    all.nodes[0]?.next((exchange) => {
      response = () => {
        asUsual(exchange);
      };
    });
    const call = all.request();
    await eventually(() => all.requestCounts()[1] === 1);
    response();
    expect(await call).toMatchObject({ result: word(1) });
    await eventually(hung.isClosed);
    expect(await lost()).toBe(lostBefore + 1);
  });

  it('waits for the other attempt if one fails, and is sent to a third upstream if both do', async () => {
    const all = await withHedges(3);
    await warm(all);
    let fail: () => void = () => undefined;
    all.nodes[0]?.next((exchange) => void (fail = () => void status(503)(exchange)));
    let failToo: () => void = () => undefined;
    all.nodes[1]?.next((exchange) => void (failToo = () => void status(503)(exchange)));
    const call = all.request();
    await eventually(() => all.requestCounts()[1] === 1);
    failToo();
    await staysTrueFor(50, () => all.requestCounts().join() === '1,1,0');
    fail();
    expect(await call).toMatchObject({ result: word(3) });
    expect(all.requestCounts()).toEqual([1, 1, 1]);
  });

  it('waits for the slower response if the faster one is a null that needs confirmation', async () => {
    const hash = word(9);
    const all = await withHedges(2, {}, { verify: { nulls: 'always' } });
    await warm(all);
    all.nodes[1]?.response('eth_getTransactionByHash', null);
    all.nodes[0]?.response('eth_getTransactionByHash', { hash, nonce: '0x3', blockHash: null });
    for (let times = 0; times < 20; times++) await all.send('eth_getTransactionByHash', [hash]);
    let first: Exchange | undefined;
    all.nodes[0]?.next((exchange) => void (first = exchange), 'eth_getTransactionByHash');
    for (const node of all.nodes) node.calls.length = 0;
    const finds = (): string => all.nodes.map((node) => node.callsOf('eth_getTransactionByHash').length).join();
    let hasEnded = false;
    const call = all.send('eth_getTransactionByHash', [hash]).finally(() => (hasEnded = true));
    await eventually(() => finds() === '1,1');
    await staysTrueFor(100, () => !hasEnded);
    if (first !== undefined) asUsual(first);
    expect((await call).response.result).toMatchObject({ hash });
    expect(finds()).toBe('1,1');
  });

  it('has both attempts cancelled when the client disconnects', async () => {
    const all = await withHedges(2);
    await warm(all);
    const hung = [hangUntilClosed(), hangUntilClosed()];
    all.nodes.forEach((node, index) => {
      node.always(hung[index]?.behaviour);
    });
    const leaving = new AbortController();
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_getStorageAt',
      params: [`0x${'11'.repeat(20)}`, '0x0', 'latest'],
    };
    const call = fetch(all.gateway.url('test'), { method: 'POST', body: JSON.stringify(body), signal: leaving.signal });
    await eventually(() => all.requestCounts()[1] === 1);
    leaving.abort();
    await expect(call).rejects.toThrow();
    await eventually(() => hung.every(({ isClosed }) => isClosed()));
  });
});

describe('no hedged request is sent', () => {
  it('for a transaction, however long it takes', async () => {
    const all = await withHedges(2);
    for (const node of all.nodes) node.response(send, word(5));
    await Promise.all(Array.from({ length: 20 }, () => all.send(send, ['0x02c0'])));
    for (const node of all.nodes) node.calls.length = 0;
    all.nodes[0]?.next(slow(200), send);
    expect((await all.send(send, ['0x02c0'])).response.result).toBe(word(5));
    expect(all.nodes.map((node) => node.callsOf(send).length)).toEqual([1, 0]);
  });

  it('for a pass-through method', async () => {
    const all = await withHedges(2, {}, { methods: ['debug_traceTransaction'] });
    for (const node of all.nodes) node.response('debug_traceTransaction', {});
    for (let times = 0; times < 20; times++) await all.send('debug_traceTransaction', [word(1)]);
    all.nodes[0]?.next(slow(150), 'debug_traceTransaction');
    await all.send('debug_traceTransaction', [word(1)]);
    expect(all.requestCounts()).toEqual([21, 0]);
  });

  it.each<[string, object, number]>([
    ['if the network file has `hedgeAfterMs: off`', { failsafe: { hedgeAfterMs: 'off' } }, 2],
    ['before the delay in the network file', { failsafe: { hedgeAfterMs: undefined, hedgeMinMs: 5_000 } }, 2],
    ['if there is one upstream only', {}, 1],
  ])('%s', async (_, file, count) => {
    const all = await withHedges(count, {}, file);
    await warm(all);
    all.nodes[0]?.next(slow(150));
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual(count === 1 ? [1] : [1, 0]);
  });

  it('to an upstream that has an open circuit or does not support the method', async () => {
    // With a stopped clock, the circuit stays open, even on a slow machine.
    shiftClock();
    const all = await withHedges(3);
    await warm(all);
    all.nodes[1]?.response('eth_gasPrice', rpcError(-32601, 'the method eth_gasPrice does not exist'));
    for (const index of [0, 2]) all.nodes[index]?.response('eth_gasPrice', '0x1');
    await all.nodes[0]?.refuse();
    await all.send('eth_gasPrice', []);
    await all.nodes[0]?.listen();
    expect(all.nodes.map((node) => node.callsOf('eth_gasPrice').length)).toEqual([0, 1, 1]);
    all.nodes[2]?.next(slow(150), 'eth_gasPrice');
    await all.send('eth_gasPrice', []);
    expect(all.nodes.map((node) => node.callsOf('eth_gasPrice').length)).toEqual([0, 1, 2]);
  });

  it('beyond the retry budget: when all calls are slow, few are hedged', async () => {
    // With a stopped clock, the window of the budget does not end, even on a slow machine.
    shiftClock();
    const all = await withHedges(2, { UPSTREAM_TIMEOUT_MS: '60000', CALL_TIMEOUT_MS: '60000' });
    await warm(all);
    const startedBefore = await hedgesStarted(all);
    const rejectedBefore = await rejections(all);
    // No response comes, so no call ends before all calls have been considered for a hedge.
    const exchanges: Exchange[] = [];
    for (const node of all.nodes) node.always((exchange) => void exchanges.push(exchange));
    const calls = Array.from({ length: 60 }, all.request);
    const considered = async (): Promise<number> =>
      (await hedgesStarted(all)) - startedBefore + (await rejections(all)) - rejectedBefore;
    await expect.poll(considered).toBe(60);
    const started = await hedgesStarted(all);
    // At least 20; at most 20 and a fifth of 80 calls. Hedges of the first 20 calls count as well.
    expect(started).toBeGreaterThanOrEqual(20);
    expect(started).toBeLessThanOrEqual(36);
    await eventually(() => exchanges.length === 60 + started - startedBefore);
    expect(all.requestCounts()).toEqual([60, started - startedBefore]);
    for (const exchange of exchanges) asUsual(exchange);
    const results = (await Promise.all(calls)).map(({ result }) => result);
    expect(results.every((result) => result === word(1) || result === word(2))).toBe(true);
  });
});

async function hedgesStarted({ gateway }: WithNodes): Promise<number> {
  const { value } = await readMetrics(gateway.address);
  return value('gatehouse_hedges_total', { event: 'started' }) ?? 0;
}

async function up({ gateway }: WithNodes): Promise<number | undefined> {
  return (await readMetrics(gateway.address)).value('gatehouse_upstream_up', { upstream: 'node-0' });
}

async function rejections({ gateway }: WithNodes): Promise<number> {
  const { value } = await readMetrics(gateway.address);
  return value('gatehouse_retry_budget_exhausted_total', { what: 'hedge' }) ?? 0;
}

it('the circuit of an upstream that never responds opens, although hedges end its attempts before the timeout', async () => {
  const all = await withHedges(2);
  await warm(all);
  all.nodes[0]?.always(hang);
  // A successful poll of its head would keep the circuit closed.
  all.nodes[0]?.always(hang, 'eth_getBlockByNumber');
  for (let times = 0; times < 8; times++) expect(await all.request()).toMatchObject({ result: word(2) });
  expect(all.requestCounts()).toEqual([3, 8]);
  // Slow calls of other methods open the circuit for all methods. A poll from before may have had a response meanwhile.
  for (const method of ['eth_getBalance', 'eth_getTransactionCount']) {
    for (const node of all.nodes) node.response(method, '0x1');
    for (const at of ['11', '22']) await all.send(method, [`0x${at.repeat(20)}`, 'latest']);
  }
  const { value } = await readMetrics(all.gateway.address);
  // Open, or half-open already on a slow machine.
  expect([1, 2]).toContain(value('gatehouse_upstream_circuit_state', { upstream: 'node-0' }));
  // It has responded to nothing since: it is not only slow.
  const reason = 'the hedged request responded first';
  const stateOf = async (): Promise<{ readonly state: string; readonly reason?: string } | undefined> => {
    const response = await fetch(`${all.gateway.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: { upstreams: { state: string; reason?: string }[] }[] };
    return networks[0]?.upstreams[0];
  };
  expect(await stateOf()).toMatchObject({ state: 'failing', reason });
  expect(await (await fetch(`${all.gateway.address}/readyz`)).json()).toMatchObject({
    networks: { test: { up: 1, failing: { 'node-0': expect.stringContaining(reason) as string } } },
  });
  all.nodes[0]?.always(undefined, 'eth_getBlockByNumber');
  const isUp = async (): Promise<boolean> => {
    await all.request();
    return (await stateOf())?.state !== 'failing';
  };
  await eventually(isUp, 60_000, 250);
});

it('a call at an upstream with a half-open circuit is hedged soon', async () => {
  const clock = shiftClock();
  const all = await withHedges(2, { UPSTREAM_TIMEOUT_MS: '3000' });
  await all.nodes[0]?.refuse();
  await all.request();
  await all.nodes[0]?.listen();
  clock.forward(1_100);
  const exchanges: Exchange[] = [];
  all.nodes[0]?.always((exchange) => void exchanges.push(exchange));
  expect(await all.request()).toMatchObject({ result: word(2) });
  expect(all.requestCounts()).toEqual([1, 2]);
  const { value } = await readMetrics(all.gateway.address);
  expect(value('gatehouse_upstream_circuit_state', { upstream: 'node-0' })).toBe(1);
  // The attempt was not cancelled, so its late response closes the circuit.
  all.nodes[0]?.always(undefined);
  for (const exchange of exchanges) asUsual(exchange);
  await expect.poll(() => up(all)).toBe(1);
  expect(await all.request()).toMatchObject({ result: word(1) });
});
