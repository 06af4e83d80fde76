import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { status, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError } from '../support/fake-node.ts';
import { storageParams, withNodes, word } from './with-nodes.ts';

/** Holds requests to a node until they are released. */
function hold(): { behaviour: (exchange: Exchange) => void; held: Exchange[]; release: () => void } {
  const held: Exchange[] = [];
  return {
    held,
    behaviour: (exchange) => void held.push(exchange),
    release: () => {
      for (const { response, text } of held.splice(0)) response.writeHead(200).end(text);
    },
  };
}

/** A client on its own connection, which can disconnect. */
function openClient(url: string): { response: Promise<{ id: unknown; result?: unknown }>; disconnect: () => void } {
  const body = { jsonrpc: '2.0', id: 'own', method: 'eth_getStorageAt', params: storageParams };
  const posted = httpRequest(url, { method: 'POST', agent: false });
  const responseBody = new Promise<{ id: unknown; result?: unknown }>((resolve, reject) => {
    posted.on('error', reject).on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += String(chunk)));
      response.on('end', () => {
        resolve(JSON.parse(text) as { id: unknown });
      });
    });
  });
  responseBody.catch(() => undefined);
  posted.end(JSON.stringify(body));
  return { response: responseBody, disconnect: () => posted.destroy() };
}

describe('identical calls at the same time', () => {
  it('are coalesced into one upstream request, have their own ids, and are counted', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1);
    await request();
    const { behaviour, release } = hold();
    nodes[0]?.next(behaviour);
    const calls = [1, 'two', 3].map((id) => gateway.call('test', 'eth_getStorageAt', storageParams, id));
    await eventually(() => requestCounts()[0] === 2);
    await eventually(async () => (await coalescedOf(gateway.address)) === 2);
    release();
    expect(await Promise.all(calls)).toEqual([1, 'two', 3].map((id) => ({ jsonrpc: '2.0', id, result: word(1) })));
    expect(requestCounts()).toEqual([2]);
    await request();
    expect(requestCounts()).toEqual([3]);
  });

  it('get the same upstream failure or error', async () => {
    const { nodes, requestCounts, send } = await withNodes(1);
    nodes[0]?.always(status(500));
    const same = (): ReturnType<typeof send> => send('eth_getStorageAt', storageParams);
    const [one, two] = await Promise.all([same(), same()]);
    expect([one.response.error?.code, two.response.error?.code]).toEqual([-32603, -32603]);
    nodes[0]?.always(undefined);
    nodes[0]?.response('eth_call', rpcError(3, 'execution reverted', '0x'));
    const call = [{ to: storageParams[0] }, 'latest'];
    await eventually(async () => (await send('eth_call', call)).response.error?.code === 3);
    const before = requestCounts()[0] ?? 0;
    const both = await Promise.all([send('eth_call', call), send('eth_call', call)]);
    expect(both.map(({ response }) => response.error?.data)).toEqual(['0x', '0x']);
    expect((requestCounts()[0] ?? 0) - before).toBeLessThanOrEqual(2);
  });

  it('continue when one client disconnects, and are cancelled when all have', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1);
    await request();
    const first = hold();
    nodes[0]?.next(first.behaviour);
    const [one, two] = [openClient(gateway.url('test')), openClient(gateway.url('test'))];
    await eventually(() => requestCounts()[0] === 2);
    await eventually(async () => (await coalescedOf(gateway.address)) === 1);
    one.disconnect();
    await eventually(async () => (await inFlightOf(gateway.address)) > 0);
    first.release();
    expect((await two.response).result).toBe(word(1));

    const second = hold();
    nodes[0]?.next(second.behaviour);
    const [three, four] = [openClient(gateway.url('test')), openClient(gateway.url('test'))];
    await eventually(async () => (await coalescedOf(gateway.address)) === 2);
    let isClosed = false;
    second.held[0]?.response.on('close', () => (isClosed = true));
    three.disconnect();
    four.disconnect();
    await eventually(() => isClosed);
    expect((await request()).result).toBe(word(1));
    expect(requestCounts()).toEqual([4]);
  });

  it('are not coalesced across a newer served block', async () => {
    const { gateway, nodes } = await withNodes(1);
    const balance = (): ReturnType<typeof gateway.call> =>
      gateway.call('test', 'eth_getBalance', [storageParams[0], 'latest']);
    nodes[0]?.response('eth_getBalance', '0x1');
    nodes[0]?.response('eth_blockNumber', '0x10');
    nodes[0]?.response('eth_getLogs', [{ ...log, blockNumber: '0x12' }]);
    await gateway.call('test', 'eth_blockNumber');
    const { behaviour, release, held } = hold();
    nodes[0]?.next(behaviour, 'eth_getBalance');
    const first = balance();
    await eventually(() => held.length === 1);
    nodes[0]?.response('eth_blockNumber', '0x11');
    await gateway.call('test', 'eth_blockNumber');
    nodes[0]?.next(behaviour, 'eth_getBalance');
    const second = balance();
    await eventually(() => held.length === 2);
    await gateway.call('test', 'eth_getLogs', [{}]);
    await balance();
    release();
    await Promise.all([first, second]);
    expect(nodes[0]?.callsOf('eth_getBalance')).toHaveLength(3);
  });

  it('have their own deadlines, and release their places when clients disconnect', async () => {
    const { gateway, nodes, requestCounts, request } = await withNodes(1, {
      requestsMax: '4',
      CALL_TIMEOUT_MS: '5000',
    });
    await request();
    nodes[0]?.always(() => undefined);
    const first = openClient(gateway.url('test'));
    await eventually(() => requestCounts()[0] === 2);
    const leaving = [1, 2, 3].map(() => openClient(gateway.url('test')));
    await eventually(async () => (await coalescedOf(gateway.address)) === 3);
    for (const { disconnect } of leaving) disconnect();
    await eventually(async () => (await inFlightOf(gateway.address)) === 1);
    const joins = openClient(gateway.url('test'));
    expect(await first.response).toMatchObject({ error: { code: -32603 } });
    // Its deadline is later than that of the call it joined, so it is sent again.
    expect(await joins.response).toMatchObject({ error: { code: -32603 } });
    expect(nodes[0]?.callsOf('eth_getStorageAt').length).toBeGreaterThan(2);
  });

  it('are not coalesced across a sent transaction', async () => {
    const { gateway, nodes, requestCounts, ...all } = await withNodes(1);
    nodes[0]?.response('eth_sendRawTransaction', word(9));
    await all.request();
    const { behaviour, release } = hold();
    nodes[0]?.next(behaviour, 'eth_getStorageAt');
    const read = (): ReturnType<typeof gateway.call> => gateway.call('test', 'eth_getStorageAt', storageParams);
    const before = read();
    await eventually(() => requestCounts()[0] === 2);
    await gateway.call('test', 'eth_sendRawTransaction', ['0x02']);
    const after = read();
    expect((await after).result).toBe(word(1));
    release();
    expect((await before).result).toBe(word(1));
    expect(nodes[0]?.callsOf('eth_getStorageAt')).toHaveLength(3);
  });

  it('are coalesced with one that leaves out the block, which is latest', async () => {
    const { gateway, nodes } = await withNodes(1);
    const [address] = storageParams;
    nodes[0]?.response('eth_getBalance', '0x1');
    const { behaviour, held, release } = hold();
    nodes[0]?.always(behaviour, 'eth_getBalance');
    const calls = [[address], [address, 'latest'], [address, null]].map((params) =>
      gateway.call('test', 'eth_getBalance', params),
    );
    await eventually(async () => held.length === 1 && (await coalescedOf(gateway.address)) === 2);
    release();
    for (const { result } of await Promise.all(calls)) expect(result).toBe('0x1');
    expect(nodes[0]?.callsOf('eth_getBalance').map(({ params }) => params)).toEqual([[address, 'latest']]);
  });

  it('are coalesced only with equal parameters, and never when they send transactions', async () => {
    const { gateway, nodes } = await withNodes(1);
    nodes[0]?.response('eth_sendRawTransaction', word(9));
    const other = [storageParams[0], '0x1', 'latest'];
    await Promise.all([storageParams, other].map((params) => gateway.call('test', 'eth_getStorageAt', params)));
    await Promise.all(['0x02', '0x02'].map((raw) => gateway.call('test', 'eth_sendRawTransaction', [raw])));
    expect(nodes[0]?.callsOf('eth_getStorageAt')).toHaveLength(2);
    expect(nodes[0]?.callsOf('eth_sendRawTransaction')).toHaveLength(2);
  });

  it('are not coalesced with those of another method that have the same parameters', async () => {
    const { gateway, nodes } = await withNodes(1);
    const [address] = storageParams;
    nodes[0]?.response('eth_getBalance', '0x1');
    nodes[0]?.response('eth_getTransactionCount', '0x2');
    const { behaviour, held, release } = hold();
    nodes[0]?.always(behaviour, 'eth_getBalance');
    nodes[0]?.always(behaviour, 'eth_getTransactionCount');
    const calls = ['eth_getBalance', 'eth_getTransactionCount'].map((method) =>
      gateway.call('test', method, [address, 'latest']),
    );
    await eventually(async () => held.length + (await coalescedOf(gateway.address)) === 2);
    release();
    expect((await Promise.all(calls)).map(({ result }) => result)).toEqual(['0x1', '0x2']);
  });
});

const log = {
  ...{ address: storageParams[0], blockHash: word(3), data: '0x', logIndex: '0x0', removed: false, topics: [] },
  ...{ transactionHash: word(4), transactionIndex: '0x0' },
};

async function coalescedOf(address: string): Promise<number> {
  return sumOf(address, 'gatehouse_calls_coalesced_total');
}

async function inFlightOf(address: string): Promise<number> {
  return sumOf(address, 'gatehouse_calls_in_flight');
}

async function sumOf(address: string, metric: string): Promise<number> {
  const { samplesOf } = await readMetrics(address);
  return samplesOf(metric).reduce((sum, { value }) => sum + value, 0);
}
