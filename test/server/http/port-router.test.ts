import { Router } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../gateway/config/log.ts';
import { makeKey } from '../../../gateway/auth/formats/key.ts';
import { RejectedBodies } from '../../../gateway/limits/rejected-bodies.ts';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { listen, type Listener } from '../../../gateway/server/http/http-server.ts';
import { portRouter, type PortRouterOptions } from '../../../gateway/server/http/port-router.ts';
import { TrustedProxies } from '../../../gateway/server/http/trusted-proxies.ts';
import { createRequestIds } from '../../../gateway/server/http/request-ids.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { head, openRaw, post } from './raw-connection.ts';

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';

describe('a request passes the router of its port', () => {
  let node: FakeNode;
  let gateway: TestGateway;
  beforeAll(async () => {
    node = await startFakeNode({ chainId: 5 });
    gateway = await startGateway({ main: network(5, [node.url]) });
  });
  afterAll(async () => {
    await gateway.stop();
    await node.close();
  });

  /** The status and the first words of the response to each request, all sent in one write. */
  async function statuses(...requests: readonly string[]): Promise<string[]> {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(requests.join(''));
    const found: string[] = [];
    for (const each of requests) {
      const { status, headers, body } = await connection.response();
      expect(headers['x-request-id'], each).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
      found.push(`${status} ${/"message":"([^":;]*)/.exec(body)?.[1] ?? headers['content-type'] ?? ''}`.trim());
    }
    connection.destroy();
    return found;
  }

  it('with its own key, where one write has requests of several keys and without one', async () => {
    const own = post(`/main/v3/${gateway.key}`, call);
    const unknown = post(`/main/v3/${makeKey()}`, call);
    expect(await statuses(own, unknown, own, post('/main/v3', call), own)).toEqual([
      '200 application/json',
      '401 invalid project id',
      '200 application/json',
      '401 project id required in the url',
      '200 application/json',
    ]);
  });

  it('and gets its response in order, also behind a page and a preflight', async () => {
    const own = post(`/main/v3/${gateway.key}`, call);
    expect(await statuses(head('GET /livez'), own, head(`OPTIONS /main/v3/${gateway.key}`), own)).toEqual([
      '200 text/plain; charset=utf-8',
      '200 application/json',
      '204',
      '200 application/json',
    ]);
  });

  it.each([
    ['an unknown network', '/other/v3/key', '404 no network at this address'],
    ['an unknown key', `/main/v3/${makeKey()}`, '401 invalid project id'],
    ['no key', '/main/v3', '401 project id required in the url'],
    ['an address of WebSocket', `/main/ws/v3/${makeKey()}`, '426 this address is for WebSocket only'],
    ['another address', '/other', '404 no network at this address'],
  ])('and %s is rejected before its body arrives', async (_, path, expected) => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(head(`POST ${path}`, { 'content-length': 100 }));
    // The response ends only after the request, but is sent before.
    const { status, body } = await connection.response();
    expect(`${status} ${body}`).toContain(expected.slice(0, 4));
    expect(body).toContain(expected.slice(4));
    connection.destroy();
  });

  it.each([
    ['GET', '/main/v3/key', '405 '],
    ['PUT', '/main/v3/key', '405 '],
    ['GET', '/other/v3/key', '404 no network'],
    ['OPTIONS', '/other/v3/key', '204'],
    ['OPTIONS', '/other', '404 no network'],
    ['OPTIONS', '/livez', '200 '],
    ['POST', '/livez', '404 no network'],
    ['GET', '/livez', '200 '],
    ['GET', '/nowhere', '404 no network'],
    ['GET', '/%zz', '404 no network'],
    // No URL: no layer can compare its path.
    ['GET', 'http://[::1/livez', '400 bad HTTP request'],
  ])('%s %s gets %s', async (method, path, expected) => {
    const [found = ''] = await statuses(head(`${method} ${path}`));
    expect(found.slice(0, expected.length)).toBe(expected);
  });
});

describe('an error of a layer', () => {
  let listener: Listener;
  beforeAll(async () => {
    const memory = new MemoryBudget({ requestsMax: 10, maxBytes: 1e9 });
    const pages = Router();
    pages.get('/throws', () => {
      throw new Error('secret');
    });
    pages.get('/rejects', () => Promise.reject(new Error('secret')));
    pages.get('/begun', (_request, response) => {
      response.write('a part');
      throw new Error('secret');
    });
    pages.get('/item/:id', (_request, response) => void response.send('ok'));
    const options = { ...{ memory, pages, rejectedBodies: new RejectedBodies() }, hasCalls: false };
    const accountOf = (): ReturnType<MemoryBudget['addressAccount']> => memory.addressAccount('192.0.2.1');
    const log = openLog('silent');
    const others = {
      accountOf,
      log,
      networks: { hintFor: () => 'unused: the port has no calls' },
      proxies: new TrustedProxies([]),
      nextRequestId: createRequestIds(),
    };
    const handle = portRouter({ ...options, ...others } as unknown as PortRouterOptions);
    const address = { name: 'main', host: '127.0.0.1', port: 0 } as const;
    listener = await listen(handle, address, 60_000, { ...options, accountOf, connectionsMax: 10 });
  });
  afterAll(() => listener.drain(100));

  it.each([
    ['/throws', 500, '{"code":-32603,"message":"internal error (ID)"}'],
    ['/rejects', 500, '{"code":-32603,"message":"internal error (ID)"}'],
    ['/item/%zz', 400, '{"code":-32600,"message":"bad HTTP request"}'],
    [
      ...(['/nowhere', 404] as const),
      '{"code":-32002,"message":"not an address of the ops port: calls are served at PORT; the admin API and its pages need ADMIN_TOKEN, the pages Accept: text/html"}',
    ],
  ])('at %s is a JSON-RPC error with status %i, without a stack', async (path, status, error) => {
    const response = await fetch(`http://127.0.0.1:${listener.port}${path}`);
    const id = response.headers.get('x-request-id') ?? '';
    expect(id).not.toBe('');
    expect([response.status, await response.text()]).toEqual([
      status,
      `{"jsonrpc":"2.0","id":null,"error":${error.replace('ID', id)}}`,
    ]);
  });

  it('whose response has begun closes the connection', async () => {
    const connection = await openRaw(listener.port);
    connection.send(head('GET /begun'));
    await expect(connection.closed).resolves.toBeUndefined();
    connection.destroy();
  });
});
