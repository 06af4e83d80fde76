import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { CoalescedCalls } from '../../gateway/routing/coalesce.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status, type Exchange } from '../support/behaviours.ts';
import { rpcError } from '../support/fake-node.ts';
import { storageParams, until, withNodes, word } from './with-nodes.ts';

/** Holds what a node is asked until it is let go. */
function hold(): { behaviour: (exchange: Exchange) => void; held: Exchange[]; letGo: () => void } {
  const held: Exchange[] = [];
  return {
    held,
    behaviour: (exchange) => void held.push(exchange),
    letGo: () => {
      for (const { response, text } of held.splice(0)) response.writeHead(200).end(text);
    },
  };
}

/** A caller on a connection of its own, who can leave. */
function callerOver(url: string): { response: Promise<{ id: unknown; result?: unknown }>; leave: () => void } {
  const body = { jsonrpc: '2.0', id: 'own', method: 'eth_getStorageAt', params: storageParams };
  const posted = httpRequest(url, { method: 'POST', agent: false });
  const rpcResponse = new Promise<{ id: unknown; result?: unknown }>((resolve, reject) => {
    posted.on('error', reject).on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += String(chunk)));
      response.on('end', () => {
        resolve(JSON.parse(text) as { id: unknown });
      });
    });
  });
  rpcResponse.catch(() => undefined);
  posted.end(JSON.stringify(body));
  return { response: rpcResponse, leave: () => posted.destroy() };
}

describe('calls that ask the same at the same time', () => {
  it('share one upstream call, each under its own id, and are counted', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1);
    await request();
    const { behaviour, letGo } = hold();
    nodes[0]?.next(behaviour);
    const calls = [1, 'two', 3].map((id) => gateway.call('test', 'eth_getStorageAt', storageParams, id));
    await until(() => requestCounts()[0] === 2);
    await expect.poll(() => sharedOf(gateway.address)).toBe(2);
    letGo();
    expect(await Promise.all(calls)).toEqual([1, 'two', 3].map((id) => ({ jsonrpc: '2.0', id, result: word(1) })));
    expect(requestCounts()).toEqual([2]);
    await request();
    expect(requestCounts()).toEqual([3]);
  });

  it('share its failure, too, and an error', async () => {
    const { nodes, requestCounts, send } = await withNodes(1);
    nodes[0]?.always(status(500));
    const same = (): ReturnType<typeof send> => send('eth_getStorageAt', storageParams);
    const [one, two] = await Promise.all([same(), same()]);
    expect([one.response.error?.code, two.response.error?.code]).toEqual([-32603, -32603]);
    nodes[0]?.always(undefined);
    nodes[0]?.response('eth_call', rpcError(3, 'execution reverted', '0x'));
    const call = [{ to: storageParams[0] }, 'latest'];
    await expect.poll(async () => (await send('eth_call', call)).response.error?.code).toBe(3);
    const before = requestCounts()[0] ?? 0;
    const both = await Promise.all([send('eth_call', call), send('eth_call', call)]);
    expect(both.map(({ response }) => response.error?.data)).toEqual(['0x', '0x']);
    expect((requestCounts()[0] ?? 0) - before).toBeLessThanOrEqual(2);
  });

  it('go on when one who asks leaves, and are broken off when all have', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1);
    await request();
    const first = hold();
    nodes[0]?.next(first.behaviour);
    const [one, two] = [callerOver(gateway.url('test')), callerOver(gateway.url('test'))];
    await until(() => requestCounts()[0] === 2);
    await expect.poll(() => sharedOf(gateway.address)).toBe(1);
    one.leave();
    await expect.poll(() => inFlightOf(gateway.address)).toBeGreaterThan(0);
    first.letGo();
    expect((await two.response).result).toBe(word(1));

    const second = hold();
    nodes[0]?.next(second.behaviour);
    const [three, four] = [callerOver(gateway.url('test')), callerOver(gateway.url('test'))];
    await expect.poll(() => sharedOf(gateway.address)).toBe(2);
    let isClosed = false;
    second.held[0]?.response.on('close', () => (isClosed = true));
    three.leave();
    four.leave();
    await until(() => isClosed);
    expect((await request()).result).toBe(word(1));
    expect(requestCounts()).toEqual([4]);
  });

  it('are asked apart once a caller was told of a newer block', async () => {
    const { gateway, nodes } = await withNodes(1);
    const balance = (): ReturnType<typeof gateway.call> =>
      gateway.call('test', 'eth_getBalance', [storageParams[0], 'latest']);
    nodes[0]?.response('eth_getBalance', '0x1');
    nodes[0]?.response('eth_blockNumber', '0x10');
    nodes[0]?.response('eth_getLogs', [{ ...log, blockNumber: '0x12' }]);
    await gateway.call('test', 'eth_blockNumber');
    const { behaviour, letGo, held } = hold();
    nodes[0]?.next(behaviour, 'eth_getBalance');
    const first = balance();
    await until(() => held.length === 1);
    nodes[0]?.response('eth_blockNumber', '0x11');
    await gateway.call('test', 'eth_blockNumber');
    nodes[0]?.next(behaviour, 'eth_getBalance');
    const second = balance();
    await until(() => held.length === 2);
    await gateway.call('test', 'eth_getLogs', [{}]);
    await balance();
    letGo();
    await Promise.all([first, second]);
    expect(nodes[0]?.callsOf('eth_getBalance')).toHaveLength(3);
  });

  it('end each in its own time, and leave their places when they leave', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1, {
      REQUESTS_MAX: '4',
      CALL_TIMEOUT_MS: '600',
    });
    await request();
    nodes[0]?.always(() => undefined);
    const stays = callerOver(gateway.url('test'));
    await until(() => requestCounts()[0] === 2);
    const leaving = [1, 2, 3].map(() => callerOver(gateway.url('test')));
    await expect.poll(() => sharedOf(gateway.address)).toBe(3);
    for (const { leave } of leaving) leave();
    await expect.poll(() => inFlightOf(gateway.address)).toBe(1);
    const joins = callerOver(gateway.url('test'));
    expect(await stays.response).toMatchObject({ error: { code: -32603 } });
    // It had more time than the one that it joined, and asks by itself.
    expect(await joins.response).toMatchObject({ error: { code: -32603 } });
    expect(nodes[0]?.callsOf('eth_getStorageAt').length).toBeGreaterThan(2);
  });

  it('are asked apart once something was sent', async () => {
    const { gateway, nodes, requestCounts, ...all } = await withNodes(1);
    nodes[0]?.response('eth_sendRawTransaction', word(9));
    await all.request();
    const { behaviour, letGo } = hold();
    nodes[0]?.next(behaviour, 'eth_getStorageAt');
    const read = (): ReturnType<typeof gateway.call> => gateway.call('test', 'eth_getStorageAt', storageParams);
    const before = read();
    await until(() => requestCounts()[0] === 2);
    await gateway.call('test', 'eth_sendRawTransaction', ['0x02']);
    const after = read();
    expect((await after).result).toBe(word(1));
    letGo();
    expect((await before).result).toBe(word(1));
    expect(nodes[0]?.callsOf('eth_getStorageAt')).toHaveLength(3);
  });

  it('are asked apart by what they ask, and when they are sent', async () => {
    const { gateway, nodes } = await withNodes(1);
    nodes[0]?.response('eth_sendRawTransaction', word(9));
    const other = [storageParams[0], '0x1', 'latest'];
    await Promise.all([storageParams, other].map((params) => gateway.call('test', 'eth_getStorageAt', params)));
    await Promise.all(['0x02', '0x02'].map((raw) => gateway.call('test', 'eth_sendRawTransaction', [raw])));
    expect(nodes[0]?.callsOf('eth_getStorageAt')).toHaveLength(2);
    expect(nodes[0]?.callsOf('eth_sendRawTransaction')).toHaveLength(2);
  });
});

const log = {
  ...{ address: storageParams[0], blockHash: word(3), data: '0x', logIndex: '0x0', removed: false, topics: [] },
  ...{ transactionHash: word(4), transactionIndex: '0x0' },
};

async function sharedOf(address: string): Promise<number> {
  return sumOf(address, 'gatehouse_calls_coalesced_total');
}

async function inFlightOf(address: string): Promise<number> {
  return sumOf(address, 'gatehouse_calls_in_flight');
}

async function sumOf(address: string, metric: string): Promise<number> {
  const { samples } = await readMetrics(address);
  return samples.filter(({ name }) => name === metric).reduce((sum, { value }) => sum + value, 0);
}

it('whatever becomes of one who asks again, the others that shared its call are told', async () => {
  const coalesced = new CoalescedCalls({ head: undefined, newestServed: 0n }, () => undefined);
  const from = performance.now();
  let requested = 0;
  const ask = (): Promise<never> => {
    if (++requested > 1) throw new RpcError('overloaded');
    return delay(60).then(() => {
      throw new RpcError('no-upstream');
    });
  };
  const askers = [60, 400, 300, 60].map((ms) => ({ deadline: from + ms, caller: new Cancellation() }));
  const told = await Promise.allSettled(askers.map((asker) => coalesced.request('call', asker, ask)));
  const reasons = told.map((one) => (one.status === 'rejected' ? (one.reason as RpcError).reason : 'result'));
  expect(reasons).toEqual(['no-upstream', 'overloaded', 'overloaded', 'no-upstream']);
});
