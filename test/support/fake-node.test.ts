import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bareError,
  body,
  cutInBody,
  cutInHeaders,
  dribble,
  hang,
  huge,
  idAsString,
  redirect,
  slow,
  status,
  statusWithResponse,
  withId,
} from './behaviours.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { rpcError, startFakeNode, type FakeNode } from './fake-node.ts';

let node: FakeNode;

beforeEach(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_gasPrice: '0x7' } });
});
afterEach(() => node.close());

describe('a fake node responds', () => {
  it('to eth_chainId and to a request of the latest block by default', async () => {
    expect(await request('eth_chainId')).toEqual({ jsonrpc: '2.0', id: 5, result: '0xa' });
    const block = await request('eth_getBlockByNumber', ['latest', false]);
    expect(block).toMatchObject({ result: { number: '0x10', gasLimit: '0x1c9c380' } });
  });

  it('with its initial response, and with a later one', async () => {
    expect(await request('eth_gasPrice')).toMatchObject({ result: '0x7' });
    node.response('eth_gasPrice', null);
    expect(await request('eth_gasPrice')).toEqual({ jsonrpc: '2.0', id: 5, result: null });
  });

  it('with an error', async () => {
    node.response('eth_gasPrice', rpcError(3, 'execution reverted', '0x'));
    const error = { code: 3, message: 'execution reverted', data: '0x' };
    expect(await request('eth_gasPrice')).toEqual({ jsonrpc: '2.0', id: 5, error });
  });

  it('with the result of a function of the parameters', async () => {
    node.response('eth_getCode', (params: unknown) => (params as string[])[0]);
    expect(await request('eth_getCode', ['0xaa'])).toMatchObject({ result: '0xaa' });
  });

  it('with -32601 to an unknown method', async () => {
    expect(await request('eth_nonsense')).toMatchObject({ error: { code: -32601 } });
  });
});

describe('a fake node', () => {
  it('records each received call', async () => {
    await request('eth_chainId');
    await request('eth_gasPrice', ['0x1']);
    expect(node.calls.map((call) => call.method)).toEqual(['eth_chainId', 'eth_gasPrice']);
    expect(node.callsOf('eth_gasPrice')).toMatchObject([{ params: ['0x1'], path: '/', headers: { 'x-test': 'yes' } }]);
    expect(node.calls[1]?.body).toBe('{"jsonrpc":"2.0","id":5,"method":"eth_gasPrice","params":["0x1"]}');
  });

  it('applies queued behaviours to the next calls except probes', async () => {
    node.next(status(503));
    node.next(status(429));
    expect((await send('eth_chainId')).status).toBe(200);
    expect((await send('eth_gasPrice')).status).toBe(503);
    expect((await send('eth_gasPrice')).status).toBe(429);
    expect((await send('eth_gasPrice')).status).toBe(200);
  });

  it('applies a behaviour to the next call of one method, even a probe', async () => {
    node.next(status(503), 'eth_chainId');
    expect((await send('eth_gasPrice')).status).toBe(200);
    expect((await send('eth_chainId')).status).toBe(503);
  });

  it('applies a permanent behaviour until it is removed', async () => {
    node.always(status(500));
    expect((await send('eth_gasPrice')).status).toBe(500);
    expect((await send('eth_gasPrice')).status).toBe(500);
    expect((await send('eth_chainId')).status).toBe(200);
    node.always(undefined);
    expect((await send('eth_gasPrice')).status).toBe(200);
  });

  it('refuses connections, and listens again at the same address', async () => {
    await node.refuse();
    await expect(send('eth_gasPrice')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await node.listen();
    expect(await request('eth_gasPrice')).toMatchObject({ result: '0x7' });
  });

  it('ends a hanging call when it is closed', async () => {
    node.next(hang);
    const call = send('eth_gasPrice').catch(() => 'ended');
    while (node.calls.length === 0) await new Promise(setImmediate);
    await node.close();
    expect(await call).toBe('ended');
  });
});

describe('a behaviour', () => {
  it('slow: a delayed response', async () => {
    node.next(slow(60));
    const start = clock.now();
    expect(await request('eth_gasPrice')).toMatchObject({ result: '0x7' });
    expect(clock.now() - start).toBeGreaterThan(55);
  });

  it('hang: no response', async () => {
    node.next(hang);
    await expect(send('eth_gasPrice', [], AbortSignal.timeout(60))).rejects.toThrow('timeout');
  });

  it('cutInHeaders: no status', async () => {
    node.next(cutInHeaders);
    await expect(send('eth_gasPrice')).rejects.toThrow('fetch failed');
  });

  it('cutInBody: the status and half of the body', async () => {
    node.next(cutInBody);
    const response = await send('eth_gasPrice');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('status: HTML, or any other body', async () => {
    node.next(status(503));
    const html = await send('eth_gasPrice');
    expect([html.status, html.headers.get('content-type')]).toEqual([503, 'text/html']);
    expect(await html.text()).toContain('<h1>503</h1>');
    node.next(status(429, 'slow down', 'text/plain'));
    const plain = await send('eth_gasPrice');
    expect([plain.status, await plain.text()]).toEqual([429, 'slow down']);
  });

  it('statusWithResponse: the configured response with another status', async () => {
    node.next(statusWithResponse(500));
    const response = await send('eth_gasPrice');
    expect([response.status, await response.json()]).toMatchObject([500, { id: 5, result: '0x7' }]);
  });

  it('body: any text', async () => {
    node.next(body('{"jsonrpc":'));
    expect(await (await send('eth_gasPrice')).text()).toBe('{"jsonrpc":');
  });

  it('withId and idAsString: another id, null, none, or the id as a string', async () => {
    node.next(withId(6));
    node.next(withId(null));
    node.next(withId(undefined));
    node.next(idAsString);
    expect(await request('eth_gasPrice')).toEqual({ jsonrpc: '2.0', id: 6, result: '0x7' });
    expect(await request('eth_gasPrice')).toEqual({ jsonrpc: '2.0', id: null, result: '0x7' });
    expect(Object.keys((await request('eth_gasPrice')) as object)).toEqual(['jsonrpc', 'result']);
    expect(await request('eth_gasPrice')).toEqual({ jsonrpc: '2.0', id: '5', result: '0x7' });
  });

  it('bareError: an error without an envelope', async () => {
    node.next(bareError(-32005, 'daily limit'));
    expect(await request('eth_gasPrice')).toEqual({ code: -32005, message: 'daily limit' });
  });

  it('huge: this many MiB, until the client cancels', async () => {
    node.next(huge(3));
    const { result } = (await request('eth_gasPrice')) as { result: string };
    expect(result).toHaveLength(3 * 1024 * 1024 + 2);
    node.next(huge(1000));
    const response = await send('eth_gasPrice');
    await response.body?.cancel();
    expect(await request('eth_gasPrice')).toMatchObject({ result: '0x7' });
  });

  it('dribble: the response in small chunks', async () => {
    node.next(dribble(10, 5));
    const response = await send('eth_gasPrice');
    const chunks: string[] = [];
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) chunks.push(decoder.decode(chunk as Uint8Array));
    expect(chunks.length).toBeGreaterThan(2);
    expect(JSON.parse(chunks.join(''))).toMatchObject({ result: '0x7' });
  });

  it('redirect: a Location header', async () => {
    node.next(redirect('http://127.0.0.1:1/elsewhere'));
    const response = await send('eth_gasPrice');
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/elsewhere']);
  });
});

function send(method: string, params: unknown[] = [], signal: AbortSignal | null = null): Promise<Response> {
  return fetch(node.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-test': 'yes' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 5, method, params }),
    redirect: 'manual',
    signal,
  });
}

async function request(method: string, params: unknown[] = []): Promise<unknown> {
  return (await send(method, params)).json();
}
