import { request as httpRequest } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status, type Behaviour, type Exchange } from '../support/behaviours.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { CHAIN_ID, storageParams, withNodes, word } from './with-nodes.ts';

const storage = { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams };
/** Different calls, because identical calls of a batch are deduplicated. */
const several = (count: number): object[] =>
  Array.from({ length: count }, (_, position) => ({
    ...storage,
    params: [storageParams[0], `0x${position.toString(16)}`, 'latest'],
  }));
const send = 'eth_sendRawTransaction';
const hash = word(77);
const patience = { timeout: 5_000 };

/** A client on its own connection, which can disconnect before the response. */
function openClient(gateway: TestGateway, body: unknown): { disconnect: () => void } {
  const posted = httpRequest(gateway.url('test'), { method: 'POST', agent: false });
  posted.on('error', () => undefined).end(JSON.stringify(body));
  return { disconnect: () => posted.destroy() };
}

/** Holds requests until they are released, and counts those whose connection was closed meanwhile. */
function holdRequests(): { behaviour: Behaviour; release: () => void; closedCount: () => number } {
  const exchanges: Exchange[] = [];
  let closed = 0;
  return {
    behaviour: (exchange) => {
      exchanges.push(exchange);
      exchange.response.on('close', () => {
        if (!exchange.response.writableFinished) closed++;
      });
    },
    release: () => {
      for (const { response, text } of exchanges) response.writeHead(200).end(text);
    },
    closedCount: () => closed,
  };
}

async function countCalls(gateway: TestGateway, outcome: string): Promise<number> {
  const { samplesOf } = await readMetrics(gateway.address);
  const all = samplesOf('gatehouse_calls_total').filter(({ labels }) => labels['outcome'] === outcome);
  return all.reduce((sum, { value }) => sum + value, 0);
}

describe('when a client disconnects before the response', () => {
  it('the upstream batch with its calls is aborted', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1, {}, {}, [{ batch: true }]);
    await request();
    const hold = holdRequests();
    nodes[0]?.next(hold.behaviour);
    const client = openClient(gateway, several(3));
    await eventually(() => requestCounts()[0] === 4);
    client.disconnect();
    await expect.poll(hold.closedCount, patience).toBe(1);
    expect((await request()).result).toBe(word(1));
    expect(requestCounts()).toEqual([5]);
  });

  it('the calls of its batch that have not begun are not sent', async () => {
    const { gateway, nodes, request } = await withNodes(1);
    await request();
    const hold = holdRequests();
    nodes[0]?.always(hold.behaviour);
    const logs = Array.from({ length: 200 }, (_, id) => {
      const address = `0x${id.toString(16).padStart(40, '0')}`;
      return { jsonrpc: '2.0', id, method: 'eth_getLogs', params: [{ address, fromBlock: '0x1', toBlock: '0x1' }] };
    });
    const client = openClient(gateway, logs);
    const sent = (): number => nodes[0]?.callsOf('eth_getLogs').length ?? 0;
    // A batch has 50 calls in progress.
    await eventually(() => sent() === 50);
    client.disconnect();
    await eventually(() => hold.closedCount() === 50);
    await staysTrueFor(500, () => sent() === 50);
  });

  it('its upstream request is aborted, and no other upstream is tried', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(2);
    await request();
    const hold = holdRequests();
    nodes[0]?.next(hold.behaviour);
    const client = openClient(gateway, storage);
    await eventually(() => requestCounts()[0] === 2);
    client.disconnect();
    await eventually(() => hold.closedCount() === 1);
    await expect.poll(() => countCalls(gateway, 'caller-left'), patience).toBe(1);
    // This is not an upstream failure.
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'cancelled' })).toBe(1);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    expect(value('gatehouse_calls_in_flight')).toBe(0);
    expect(await request()).toMatchObject({ result: word(1) });
    expect(requestCounts()).toEqual([3, 0]);
  });

  it('all calls of its batch are cancelled, including those not yet sent', async () => {
    const { gateway, nodes, requestCounts } = await withNodes(1, { batchConcurrency: '2' });
    const hold = holdRequests();
    nodes[0]?.always(hold.behaviour);
    const client = openClient(gateway, several(5));
    await eventually(() => requestCounts()[0] === 2);
    client.disconnect();
    await eventually(() => hold.closedCount() === 2);
    await expect.poll(() => countCalls(gateway, 'caller-left'), patience).toBe(5);
    expect((await readMetrics(gateway.address)).value('gatehouse_calls_in_flight')).toBe(0);
    expect(requestCounts()).toEqual([2]);
  });

  it('a call that waits for a connection is cancelled without closing one', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1, { UPSTREAM_CONNECTIONS: '1' });
    await request();
    const hold = holdRequests();
    nodes[0]?.next(hold.behaviour);
    const first = request();
    await eventually(() => requestCounts()[0] === 2);
    const client = openClient(gateway, storage);
    await expect
      .poll(async () => (await readMetrics(gateway.address)).value('gatehouse_calls_in_flight'), patience)
      .toBe(2);
    client.disconnect();
    await expect.poll(() => countCalls(gateway, 'caller-left'), patience).toBe(1);
    hold.release();
    expect(await first).toMatchObject({ result: word(1) });
    expect(await request()).toMatchObject({ result: word(1) });
    // The cancelled call was never sent, and the others used one connection.
    expect(requestCounts()).toEqual([3]);
    expect(hold.closedCount()).toBe(0);
  });

  it('other calls are not affected', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1);
    await request();
    const hold = holdRequests();
    nodes[0]?.always(hold.behaviour);
    const other = request();
    const client = openClient(gateway, storage);
    await eventually(() => requestCounts()[0] === 3);
    client.disconnect();
    await eventually(() => hold.closedCount() === 1);
    hold.release();
    expect(await other).toMatchObject({ result: word(1) });
  });

  it('its transaction is still sent, and retried at another upstream after a failure', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(2);
    await request();
    const exchanges: Exchange[] = [];
    nodes[0]?.next((exchange) => void exchanges.push(exchange), send);
    nodes[1]?.response(send, hash);
    const client = openClient(gateway, { ...storage, method: send, params: ['0x02c0'] });
    await eventually(() => exchanges.length === 1);
    client.disconnect();
    // Enough time for an abort to arrive.
    await request();
    await request();
    expect(exchanges[0]?.response.destroyed).toBe(false);
    for (const exchange of exchanges) void status(503)(exchange);
    await eventually(() => nodes[1]?.callsOf(send).length === 1);
    await expect.poll(() => countCalls(gateway, 'caller-left'), patience).toBe(0);
    expect(requestCounts()[1]).toBe(1);
  });

  it('nothing is counted as caller-left if it has its responses', async () => {
    const { gateway, requestCounts } = await withNodes(1);
    for (let times = 0; times < 3; times++) {
      const response = await fetch(gateway.url('test'), {
        method: 'POST',
        body: JSON.stringify(storage),
        headers: { connection: 'close' },
      });
      expect(await response.json()).toMatchObject({ result: word(1) });
    }
    expect(await countCalls(gateway, 'caller-left')).toBe(0);
    expect(requestCounts()).toEqual([3]);
  });
});

it('closing a WebSocket cancels the calls of its messages', async () => {
  const { gateway, nodes, requestCounts, request } = await withNodes(1);
  await request();
  const hold = holdRequests();
  nodes[0]?.always(hold.behaviour);
  const caller = await openCaller(socketUrl(gateway, 'test'));
  const [one, ...others] = several(3);
  caller.send(JSON.stringify(one), JSON.stringify(others));
  await eventually(() => requestCounts()[0] === 4);
  caller.socket.close();
  await eventually(() => hold.closedCount() === 3);
  await expect.poll(() => countCalls(gateway, 'caller-left'), patience).toBe(3);
});

describe('an upstream over WebSocket', () => {
  it('keeps its connection when a client disconnects, and the late response is dropped', async () => {
    const node = await startFakeWebSocketNode(CHAIN_ID);
    const upstreams = [{ name: 'node', websocketUrl: node.url }];
    const gateway = await startGateway({ test: { name: 'Test', chainId: CHAIN_ID, upstreams } });
    onTestFinished(async () => {
      await gateway.stop();
      await node.stop();
    });
    const read = (position: number) =>
      gateway.call('test', 'eth_getStorageAt', [storageParams[0], `0x${position}`, 'latest']);
    const received = () => node.calls.filter(({ method }) => method === 'eth_getStorageAt');
    await read(1);
    node.onCall(({ method, respond }) => {
      if (method !== 'eth_getStorageAt') respond();
    });
    const client = openClient(gateway, storage);
    await eventually(() => received().length === 2);
    client.disconnect();
    await expect.poll(() => countCalls(gateway, 'caller-left'), patience).toBe(1);
    const other = read(2);
    await eventually(() => received().length === 3);
    const [, cancelled, waiting] = received();
    // A response without an id may belong to either call, so the waiting call does not get it.
    waiting?.sendText('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"of the first call"}}');
    cancelled?.respond();
    waiting?.respond();
    expect(await other).toMatchObject({ result: word(2) });
    expect(node.handshakes).toHaveLength(1);
  });
});
