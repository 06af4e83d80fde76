import { expect, it, describe } from 'vitest';
import { WebSocket } from 'ws';
import { once } from 'node:events';
import { cutInBody, cutInHeaders, hang, slow, status } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, type FakeNode } from '../support/fake-node.ts';
import { hedged, shiftClock, withNodes, word, type WithNodes } from './with-nodes.ts';

const send = 'eth_sendRawTransaction';
const route = { [send]: ['node-1'] };
/** No transaction that the gateway can decode: the upstream's hash is the result. */
const raw = '0x02c0';
const hash = word(5);

/** Three nodes; the transactions belong to the second one. The others would accept them. */
async function withRelay(env: Record<string, string> = {}, more: object = {}, keys: readonly object[] = []) {
  const all = await withNodes(3, env, { route, ...more }, keys);
  for (const node of all.nodes) node.response(send, hash);
  return all;
}

const sendsOf = ({ nodes }: WithNodes): number[] => nodes.map((node) => node.callsOf(send).length);
/** No request of any kind has the transaction in its body, other than those of the relay. */
function expectPrivate({ nodes }: WithNodes): void {
  for (const node of [nodes[0], nodes[2]] as FakeNode[])
    expect(node.calls.filter(({ body }) => body.includes(raw))).toEqual([]);
}

describe('a method with a route', () => {
  it('is sent to its upstream only, other methods to all', async () => {
    const all = await withRelay();
    expect((await all.send(send, [raw])).response.result).toBe(hash);
    expect(sendsOf(all)).toEqual([0, 1, 0]);
    await all.nodes[0]?.refuse();
    expect(await all.request()).toMatchObject({ result: word(2) });
    await all.nodes[1]?.refuse();
    expect(await all.request()).toMatchObject({ result: word(3) });
  });

  it('has the route of its name, also if a wildcard that covers it is longer', async () => {
    const all = await withRelay({}, { route: { ...route, [`${send}*`]: ['node-0'] } });
    expect((await all.send(send, [raw])).response.result).toBe(hash);
    expectPrivate(all);
  });

  it.each<[string, Parameters<FakeNode['always']>[0]]>([
    ['does not respond in time', hang],
    ['is slow', slow(3_000)],
    ['closes the connection', cutInHeaders],
    ['closes the connection in the body', cutInBody],
    ['returns 503', status(503)],
    ['returns 429', status(429)],
    ['returns 401', status(401)],
    ['returns HTML', status(200)],
  ])('is not sent to another upstream if its upstream %s, now or later', async (_, behaviour) => {
    const all = await withRelay({ CALL_TIMEOUT_MS: '1500' }, {}, [
      {},
      { failsafe: { [send]: { timeoutMs: 200 } } },
      {},
    ]);
    all.nodes[1]?.always(behaviour, send);
    // The circuit is open after the first one.
    for (let times = 0; times < 3; times++) expect((await all.send(send, [raw])).status).toBe(503);
    all.nodes[1]?.always(undefined, send);
    expectPrivate(all);
    expect(sendsOf(all)[1]).toBeGreaterThan(0);
  });

  it.each([
    ['an unknown error', rpcError(-32_000, 'the relay has a bad day')],
    ['an error about the transaction', rpcError(-32_000, 'insufficient funds for gas * price + value')],
    ['that it does not support the method', rpcError(-32_601, 'the method does not exist')],
    ['that the block is missing', rpcError(-32_000, 'header not found')],
    ['that its plan is used up', rpcError(-32_005, 'daily request count exceeded, request rate limited')],
    ['an impossible result', { no: 'hash' }],
    ['null', null],
  ])('is not sent to another upstream if its upstream returns %s', async (_, response) => {
    const clock = shiftClock({ isRunning: true });
    const all = await withRelay();
    all.nodes[1]?.response(send, response);
    for (let times = 0; times < 4; times++) {
      expect((await all.send(send, [raw])).response).toHaveProperty('error');
      // A probe of an unsupported method is due, marks and cooldowns end.
      clock.forward(times === 2 ? 700_000 : 11_000);
    }
    expectPrivate(all);
    all.nodes[1]?.response(send, hash);
    clock.forward(700_000);
    expect((await all.send(send, [raw])).response.result).toBe(hash);
    expectPrivate(all);
  });

  it('is not sent to another upstream while its upstream is unreachable', async () => {
    const all = await withRelay();
    await all.nodes[1]?.refuse();
    for (let times = 0; times < 3; times++) expect((await all.send(send, [raw])).status).toBe(503);
    expectPrivate(all);
  });

  it('is not sent to another upstream at the limits of its own', async () => {
    const all = await withRelay({}, {}, [{}, { limits: { perSecond: 0.01, burst: 3 } }, {}]);
    const statuses = [];
    for (let times = 0; times < 5; times++) statuses.push((await all.send(send, [raw])).status);
    expect(statuses.at(-1)).toBe(503);
    expectPrivate(all);
  });

  it('is not sent to another upstream in a batch, nor over WebSocket', async () => {
    const all = await withRelay();
    const call = (id: number, method: string, params: unknown[]) => ({ jsonrpc: '2.0', id, method, params });
    const batch = [1, 2, 3].map((id) => call(id, send, [raw])).concat(call(4, 'eth_gasPrice', []));
    all.nodes[1]?.next(status(503), send);
    await all.gateway.post('test', JSON.stringify(batch));
    const notification = { jsonrpc: '2.0', method: send, params: [raw] };
    await all.gateway.post('test', JSON.stringify([notification, notification]));
    await all.nodes[1]?.refuse();
    await all.gateway.post('test', JSON.stringify(notification));
    await all.gateway.post('test', JSON.stringify(batch));
    const socket = new WebSocket(all.gateway.url('test').replace(/^http/, 'ws').replace('/v3/', '/ws/v3/'));
    await once(socket, 'open');
    for (const body of [batch, call(9, send, [raw])]) {
      socket.send(JSON.stringify(body));
      await once(socket, 'message');
    }
    socket.close();
    expectPrivate(all);
    expect(sendsOf(all)[1]).toBeGreaterThan(0);
  });

  it('is not sent to another upstream by `batch: true` of the upstreams', async () => {
    const all = await withRelay({}, {}, [{ batch: true }, { batch: true }, { batch: true }]);
    all.nodes[1]?.always(status(500), send);
    await Promise.all([1, 2, 3].flatMap(() => [all.send(send, [raw]), all.request()]));
    expectPrivate(all);
  });

  it('is sent to several upstreams of its route, in their order', async () => {
    const all = await withRelay({}, { route: { [send]: ['node-2', 'node-1'] } });
    all.nodes[1]?.always(status(503), send);
    expect((await all.send(send, [raw])).response.result).toBe(hash);
    expect(sendsOf(all)).toEqual([0, 1, 1]);
  });

  it('is not hedged with another upstream', async () => {
    const all = await withNodes(2, {}, { ...hedged, route: { eth_getStorageAt: ['node-0'] } });
    for (let times = 0; times < 20; times++) await all.request();
    all.nodes[0]?.next(slow(300), 'eth_getStorageAt');
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.requestCounts()).toEqual([21, 0]);
  });

  it('by wildcard: the longest match counts', async () => {
    const routes = { 'eth_get*': ['node-1'], eth_getStorageAt: ['node-2'], 'eth_*': ['node-0'] };
    const all = await withNodes(3, {}, { route: routes });
    for (const node of all.nodes) node.response('eth_getBalance', '0x1');
    for (const node of all.nodes) node.response('eth_gasPrice', '0x1');
    await all.request();
    await all.send('eth_getBalance', [`0x${'11'.repeat(20)}`, '0x5']);
    await all.send('eth_gasPrice', []);
    const counts = (method: string): number[] => all.nodes.map((node) => node.callsOf(method).length);
    expect([counts('eth_getStorageAt'), counts('eth_getBalance'), counts('eth_gasPrice')]).toEqual([
      [0, 0, 1],
      [0, 1, 0],
      [1, 0, 0],
    ]);
  });

  it('keeps its upstream after a reload, and its new upstream after a change', async () => {
    const all = await withRelay();
    const upstreams = all.nodes.map(({ url }, index) => ({ name: `node-${index}`, url }));
    const file = (name: string, routes: object) => ({
      test: { name, chainId: 7, methods: ['eth', 'zks'], failsafe: { hedgeAfterMs: 'off' }, upstreams, route: routes },
    });
    const reloaded = async (name: string, routes: object): Promise<void> => {
      all.gateway.save(file(name, routes));
      await all.gateway.gateway.reload();
      expect(all.gateway.gateway.networks[0]?.name).toBe(name);
    };
    all.nodes[1]?.always(status(503), send);
    await reloaded('again', route);
    expect((await all.send(send, [raw])).status).toBe(503);
    expectPrivate(all);
    // The call in progress keeps the route with which it began.
    all.nodes[1]?.always(hang, send);
    const inProgress = all.send(send, [raw]);
    await eventually(() => (all.nodes[1]?.callsOf(send).length ?? 0) === 2);
    await reloaded('open', {});
    await all.nodes[1]?.refuse();
    expect((await inProgress).status).toBe(503);
    expectPrivate(all);
    await all.nodes[1]?.listen();
    await reloaded('changed', { [send]: ['node-2'] });
    const before = sendsOf(all);
    expect((await all.send(send, [raw])).response.result).toBe(hash);
    expect(sendsOf(all)).toEqual([before[0], before[1], (before[2] ?? 0) + 1]);
  });
});

describe('an upstream with `methods`', () => {
  it('gets only the methods that its `methods` names, and no head polls', async () => {
    const all = await withNodes(2, {}, {}, [{ methods: [send] }, {}]);
    for (const node of all.nodes) node.response(send, hash);
    expect((await all.send(send, [raw])).response.result).toBe(hash);
    expect(sendsOf(all)).toEqual([1, 0]);
    for (let times = 0; times < 3; times++) expect(await all.request()).toMatchObject({ result: word(2) });
    await eventually(() => (all.nodes[1]?.callsOf('eth_getBlockByNumber').length ?? 0) > 0);
    expect(new Set(all.nodes[0]?.calls.map(({ method }) => method))).toEqual(new Set(['eth_chainId', send]));
  });

  it('does not get requests of the gateway itself for methods with a minus', async () => {
    const methods = ['-eth_newPendingTransactionFilter', '-eth_getBlockByHash', '-eth_getBlockByNumber'];
    const all = await withNodes(2, {}, {}, [{ methods }, {}]);
    for (const node of all.nodes) node.response('eth_newPendingTransactionFilter', '0x1');
    for (const node of all.nodes) node.response('eth_getFilterChanges', []);
    const socket = new WebSocket(all.gateway.url('test').replace(/^http/, 'ws').replace('/v3/', '/ws/v3/'));
    await once(socket, 'open');
    for (const kind of ['newPendingTransactions', 'newHeads']) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: kind, method: 'eth_subscribe', params: [kind] }));
      await once(socket, 'message');
    }
    await eventually(() => (all.nodes[1]?.callsOf('eth_getFilterChanges').length ?? 0) > 0);
    socket.close();
    expect(all.nodes[1]?.callsOf('eth_newPendingTransactionFilter')).toHaveLength(1);
    expect(all.nodes[0]?.calls.filter(({ method }) => methods.includes(`-${method}`))).toEqual([]);
  });

  it('keeps its connections and statistics when a reload changes them', async () => {
    const all = await withNodes(2);
    expect(await all.request()).toMatchObject({ result: word(1) });
    const upstreams = all.nodes.map(({ url }, index) => ({ name: `node-${index}`, url, batch: false }));
    const [first, second] = upstreams;
    const denied = [{ ...first, methods: ['-eth_getStorageAt'] }, second];
    all.gateway.save({
      test: { name: 'T', chainId: 7, methods: ['eth', 'zks'], failsafe: { hedgeAfterMs: 'off' }, upstreams: denied },
    });
    await all.gateway.gateway.reload();
    expect(await all.request()).toMatchObject({ result: word(2) });
    await all.nodes[1]?.refuse();
    expect((await all.send()).status).toBe(503);
    expect(all.nodes[0]?.callsOf('eth_getStorageAt')).toHaveLength(1);
    all.gateway.save({
      test: { name: 'T', chainId: 7, methods: ['eth', 'zks'], failsafe: { hedgeAfterMs: 'off' }, upstreams },
    });
    await all.gateway.gateway.reload();
    expect(await all.request()).toMatchObject({ result: word(1) });
    expect(all.nodes[0]?.callsOf('eth_chainId')).toHaveLength(1);
  });

  it('does not get methods with a minus, even if it is the last one', async () => {
    const all = await withNodes(2, {}, {}, [{ methods: ['-eth_getStorageAt'] }, {}]);
    await all.nodes[1]?.refuse();
    expect((await all.send()).status).toBe(503);
    expect(all.nodes[0]?.callsOf('eth_getStorageAt')).toEqual([]);
  });

  it('is not asked for the transaction that it rejected, nor for eth_call after an estimate, if they are denied', async () => {
    const deny = ['eth_getTransactionByHash', 'eth_call'];
    const all = await withNodes(1, {}, { methods: ['eth', '-eth_getTransactionByHash', '-eth_call'] }, [
      { methods: deny.map((method) => `-${method}`) },
    ]);
    const signed = `0x${readTransaction()}`;
    all.nodes[0]?.response(send, rpcError(-32_000, 'nonce too low'));
    all.nodes[0]?.response('eth_estimateGas', rpcError(3, 'execution reverted'));
    expect((await all.send(send, [signed])).response.error?.message).toBe('nonce too low');
    await all.send('eth_estimateGas', [{ to: `0x${'11'.repeat(20)}` }]);
    const methods = all.nodes[0]?.calls.map(({ method }) => method);
    for (const method of deny) expect(methods).not.toContain(method);
  });
});

/** A legacy transaction of the EIP-155 example: the gateway can decode it. */
function readTransaction(): string {
  return (
    'f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025' +
    'a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276' +
    'a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83'
  );
}
