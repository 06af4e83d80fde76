import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status, type Behaviour, type Exchange } from '../support/behaviours.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { CHAIN_ID, storageParams, until, withNodes, word } from './with-nodes.ts';

const storage = { jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params: storageParams };
/** Calls that are not the same: those in a batch that are would be asked once. */
const several = (count: number): object[] =>
  Array.from({ length: count }, (_, position) => ({
    ...storage,
    params: [storageParams[0], `0x${position.toString(16)}`, 'latest'],
  }));
const send = 'eth_sendRawTransaction';
const hash = word(77);
const patience = { timeout: 5_000 };

/** A caller on a connection of its own, who can leave before the answer. */
function callerOver(gateway: TestGateway, body: unknown): { leave: () => void } {
  const posted = request(gateway.url('test'), { method: 'POST', agent: false });
  posted.on('error', () => undefined).end(JSON.stringify(body));
  return { leave: () => posted.destroy() };
}

/** Holds calls back until they are let go, and counts those whose connection was closed meanwhile. */
function held(): { behaviour: Behaviour; letGo: () => void; closed: () => number } {
  const exchanges: Exchange[] = [];
  let closed = 0;
  return {
    behaviour: (exchange) => {
      exchanges.push(exchange);
      exchange.response.on('close', () => {
        if (!exchange.response.writableFinished) closed++;
      });
    },
    letGo: () => {
      for (const { response, text } of exchanges) response.writeHead(200).end(text);
    },
    closed: () => closed,
  };
}

async function calls(gateway: TestGateway, outcome: string): Promise<number> {
  const { samples } = await readMetrics(gateway.address);
  const all = samples.filter(({ name, labels }) => name === 'gatehouse_calls_total' && labels['outcome'] === outcome);
  return all.reduce((sum, { value }) => sum + value, 0);
}

describe('a caller who leaves before the answer', () => {
  it('has the request aborted in which its calls went together', async () => {
    const { gateway, nodes, asked: requested, request: ask } = await withNodes(1, {}, {}, [{ batch: true }]);
    await ask();
    const hold = held();
    nodes[0]?.next(hold.behaviour);
    const caller = callerOver(gateway, several(3));
    await until(() => requested()[0] === 4);
    caller.leave();
    await expect.poll(hold.closed, patience).toBe(1);
    expect((await ask()).result).toBe(word(1));
    expect(requested()).toEqual([5]);
  });

  it('has its upstream call aborted, and nobody else is asked', async () => {
    const { gateway, nodes, asked: requested, request: ask } = await withNodes(2);
    await ask();
    const hold = held();
    nodes[0]?.next(hold.behaviour);
    const caller = callerOver(gateway, storage);
    await until(() => requested()[0] === 2);
    caller.leave();
    await until(() => hold.closed() === 1);
    await expect.poll(() => calls(gateway, 'caller-left'), patience).toBe(1);
    // The upstream has done nothing wrong.
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_attempts_total', { upstream: 'node-0', outcome: 'cancelled' })).toBe(1);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    expect(value('gatehouse_calls_in_flight')).toBe(0);
    expect(await ask()).toMatchObject({ result: word(1) });
    expect(requested()).toEqual([3, 0]);
  });

  it('has all calls of a batch aborted, those that were not begun included', async () => {
    const { gateway, nodes, asked: requested } = await withNodes(1, { BATCH_CONCURRENCY: '2' });
    const hold = held();
    nodes[0]?.always(hold.behaviour);
    const caller = callerOver(gateway, several(5));
    await until(() => requested()[0] === 2);
    caller.leave();
    await until(() => hold.closed() === 2);
    await expect.poll(() => calls(gateway, 'caller-left'), patience).toBe(5);
    expect(requested()).toEqual([2]);
  });

  it('costs no connection where the call still waited for one', async () => {
    const { gateway, nodes, asked: requested, request: ask } = await withNodes(1, { UPSTREAM_CONNECTIONS: '1' });
    await ask();
    const hold = held();
    nodes[0]?.next(hold.behaviour);
    const first = ask();
    await until(() => requested()[0] === 2);
    const caller = callerOver(gateway, storage);
    await expect
      .poll(async () => (await readMetrics(gateway.address)).value('gatehouse_calls_in_flight'), patience)
      .toBe(2);
    caller.leave();
    await expect.poll(() => calls(gateway, 'caller-left'), patience).toBe(1);
    hold.letGo();
    expect(await first).toMatchObject({ result: word(1) });
    expect(await ask()).toMatchObject({ result: word(1) });
    // Never sent, and all went over one connection.
    expect(requested()).toEqual([3]);
    expect(hold.closed()).toBe(0);
  });

  it('harms nobody else', async () => {
    const { gateway, nodes, asked: requested, request: ask } = await withNodes(1);
    await ask();
    const hold = held();
    nodes[0]?.always(hold.behaviour);
    const other = ask();
    const caller = callerOver(gateway, storage);
    await until(() => requested()[0] === 3);
    caller.leave();
    await until(() => hold.closed() === 1);
    hold.letGo();
    expect(await other).toMatchObject({ result: word(1) });
  });

  it('has its transaction sent all the same, elsewhere too where the first is lost', async () => {
    const { gateway, nodes, asked: requested, request: ask } = await withNodes(2);
    await ask();
    const exchanges: Exchange[] = [];
    nodes[0]?.next((exchange) => void exchanges.push(exchange), send);
    nodes[1]?.response(send, hash);
    const caller = callerOver(gateway, { ...storage, method: send, params: ['0x02c0'] });
    await until(() => exchanges.length === 1);
    caller.leave();
    // Time enough for an abort to arrive, if there were one.
    await ask();
    await ask();
    expect(exchanges[0]?.response.destroyed).toBe(false);
    for (const exchange of exchanges) void status(503)(exchange);
    await until(() => nodes[1]?.callsOf(send).length === 1);
    await expect.poll(() => calls(gateway, 'caller-left'), patience).toBe(0);
    expect(requested()[1]).toBe(1);
  });

  it('has left nothing behind where it had its answers', async () => {
    const { gateway, asked: requested } = await withNodes(1);
    for (let times = 0; times < 3; times++) {
      const response = await fetch(gateway.url('test'), {
        method: 'POST',
        body: JSON.stringify(storage),
        headers: { connection: 'close' },
      });
      expect(await response.json()).toMatchObject({ result: word(1) });
    }
    expect(await calls(gateway, 'caller-left')).toBe(0);
    expect(requested()).toEqual([3]);
  });
});

it('a WebSocket that closes has the calls of its messages aborted', async () => {
  const { gateway, nodes, asked: requested, request: ask } = await withNodes(1);
  await ask();
  const hold = held();
  nodes[0]?.always(hold.behaviour);
  const caller = await openCaller(socketUrl(gateway, 'test'));
  const [one, ...others] = several(3);
  caller.send(JSON.stringify(one), JSON.stringify(others));
  await until(() => requested()[0] === 4);
  caller.socket.close();
  await until(() => hold.closed() === 3);
  await expect.poll(() => calls(gateway, 'caller-left'), patience).toBe(3);
});

describe('an upstream over WebSocket', () => {
  it('keeps its connection when a caller leaves, and the late reply is nobody’s', async () => {
    const node = await startFakeWebSocketNode(CHAIN_ID);
    const upstreams = [{ name: 'node', websocketUrl: node.url }];
    const gateway = await startGateway({ test: { name: 'Test', chainId: CHAIN_ID, upstreams } });
    onTestFinished(async () => {
      await gateway.stop();
      await node.stop();
    });
    const ask = (position: number) =>
      gateway.call('test', 'eth_getStorageAt', [storageParams[0], `0x${position}`, 'latest']);
    const received = () => node.calls.filter(({ method }) => method === 'eth_getStorageAt');
    await ask(1);
    node.onCall(({ method, respond }) => {
      if (method !== 'eth_getStorageAt') respond();
    });
    const caller = callerOver(gateway, storage);
    await until(() => received().length === 2);
    caller.leave();
    await expect.poll(() => calls(gateway, 'caller-left'), patience).toBe(1);
    const other = ask(2);
    await until(() => received().length === 3);
    const [, left, waiting] = received();
    // Without an id it may be about either call, so that it is not given to the one that still waits.
    waiting?.sendText('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"of the first call"}}');
    left?.respond();
    waiting?.respond();
    expect(await other).toMatchObject({ result: word(2) });
    expect(node.handshakes).toHaveLength(1);
  });
});
