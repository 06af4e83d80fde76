import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { status } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { digestOf, makeKey } from '../../../gateway/auth/formats/key.ts';

const origin = 'https://dapp.example';
const json = { 'content-type': 'application/json' };
const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const storageAt =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}';

let node: FakeNode;
let gateway: TestGateway;
/** Key for one test, because a later test exhausts the lookups of this address. */
let keyWithOrigins: string;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  const file = { privateNetworkOrigins: ['https://wallet.example', '*.other.example'] };
  gateway = await startGateway(
    { main: network(5, [node.url]), private: network(5, [node.url], file) },
    { unknownKeysMax: '3', OPS_PORT: '0', ADMIN_TOKEN: 'a-token-of-32-characters-or-more-0' },
  );
  keyWithOrigins = makeKey();
  const permissions = { origins: 'https://*.team.example' };
  const record = { name: 'team', createdAt: new Date().toISOString(), permissions };
  await gateway.gateway.keys.add(digestOf(keyWithOrigins), record);
  const url = `${gateway.address}/main/v3/${keyWithOrigins}`;
  await fetch(url, { method: 'POST', headers: { ...json, origin: 'https://a.team.example' }, body: call });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

interface PageRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly from?: string;
}

/** The part of a response that a page can read. */
interface PageResponse {
  readonly status: number;
  readonly text: string;
  readonly preflights: number;
  header(name: string): string | null;
}

/**
 * Implements a page's `fetch` to another origin as browsers do (https://fetch.spec.whatwg.org/#http-cors-protocol): a
 * preflight if the request is not a simple one, and only the headers that the response exposes.
 */
async function pageFetch(url: string, { method = 'POST', headers = {}, body, from = origin }: PageRequest) {
  const unsafe = Object.keys(headers).filter((name) => !isSafelisted(name, headers[name] ?? ''));
  const needsPreflight = unsafe.length > 0 || !['GET', 'HEAD', 'POST'].includes(method);
  if (needsPreflight) await preflight(url, method, unsafe, from);
  const response = await fetch(url, { method, headers: { ...headers, origin: from }, body: body ?? null });
  expectAllowed(response.headers, from);
  const exposed = listOf(response.headers, 'access-control-expose-headers');
  const page: PageResponse = {
    status: response.status,
    text: await response.text(),
    preflights: needsPreflight ? 1 : 0,
    header: (name) => (exposed.includes(name.toLowerCase()) ? response.headers.get(name) : null),
  };
  return page;
}

async function preflight(url: string, method: string, names: readonly string[], from: string): Promise<Headers> {
  const headers: Record<string, string> = { origin: from, 'access-control-request-method': method };
  if (names.length > 0) headers['access-control-request-headers'] = names.toSorted().join(',').toLowerCase();
  const response = await fetch(url, { method: 'OPTIONS', headers });
  if (!response.ok) throw new TypeError('the preflight failed by its HTTP status');
  expectAllowed(response.headers, from);
  const methods = [...listOf(response.headers, 'access-control-allow-methods'), 'get', 'head', 'post'];
  if (!methods.includes(method.toLowerCase())) throw new TypeError(`${method} is not allowed`);
  const allowed = listOf(response.headers, 'access-control-allow-headers');
  const missing = names.find((name) => !allowed.includes(name.toLowerCase()));
  if (missing !== undefined) throw new TypeError(`the header ${missing} is not allowed`);
  return response.headers;
}

function isSafelisted(name: string, value: string): boolean {
  if (name !== 'content-type') return ['accept', 'accept-language', 'content-language'].includes(name);
  return ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'].includes(value.split(';')[0] ?? '');
}

function expectAllowed(headers: Headers, from: string): void {
  const allowed = headers.get('access-control-allow-origin');
  if (allowed !== '*' && allowed !== from) throw new TypeError(`${from} is not allowed`);
}

function listOf(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? '').split(',').map((item) => item.trim().toLowerCase());
}

describe('a page of any origin', () => {
  it.each([origin, 'http://localhost:3000', 'null', 'chrome-extension://abcdef'])('may call: %s', async (from) => {
    const { status: got, text } = await pageFetch(gateway.url('main'), { headers: json, body: call, from });
    expect([got, text]).toEqual([200, '{"jsonrpc":"2.0","id":1,"result":"0x5"}']);
  });

  it('may cache the preflight for a day', async () => {
    const headers = await preflight(gateway.url('main'), 'POST', ['content-type'], origin);
    expect(headers.get('access-control-max-age')).toBe('86400');
    expect(headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
  });

  it('may send headers of its own, as libraries do', async () => {
    const headers = { ...json, 'x-client': 'a', 'x-app-version': 'b', authorization: 'Bearer c' };
    expect((await pageFetch(gateway.url('main'), { headers, body: call })).status).toBe(200);
    const allowed = await preflight(gateway.url('main'), 'POST', ['x-client'], origin);
    expect(listOf(allowed, 'vary')).toContain('access-control-request-headers');
  });

  it('needs no preflight for text/plain', async () => {
    const { status: got, preflights } = await pageFetch(gateway.url('main'), {
      headers: { 'content-type': 'text/plain' },
      body: call,
    });
    expect([got, preflights]).toEqual([200, 0]);
  });

  it('may send a notification', async () => {
    const body = '{"jsonrpc":"2.0","method":"eth_chainId"}';
    const response = await pageFetch(gateway.url('main'), { headers: json, body });
    expect([response.status, response.text]).toEqual([204, '']);
    expect(response.header('x-request-id')).toMatch(/^[0-9a-f]{6}-/);
  });

  it('may not send other verbs', async () => {
    await expect(pageFetch(gateway.url('main'), { method: 'DELETE' })).rejects.toThrow('DELETE is not allowed');
  });

  it('may not send cookies', async () => {
    const headers = await preflight(gateway.url('main'), 'POST', ['content-type'], origin);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });
});

describe('a page can read', () => {
  it('the request id of every response', async () => {
    const response = await pageFetch(gateway.url('main'), { headers: json, body: call });
    expect(response.header('x-request-id')).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
  });

  it.each([
    ['400 for broken JSON', 400, '/main/v3/KEY', {}, '{'],
    ['401 for a wrong key', 401, '/main/v3/wrong', {}, call],
    ['401 for no key', 401, '/main/v3/', {}, call],
    ['404 for a wrong network', 404, '/nowhere/v3/KEY', {}, call],
    ['413 for a body too large', 413, '/main/v3/KEY', {}, ' '.repeat(5_000_001)],
    ['415 for an encoding', 415, '/main/v3/KEY', { 'content-encoding': 'br' }, call],
    ['503 when no upstream responds', 503, '/main/v3/KEY', {}, storageAt],
  ])('%s, and its JSON', async (_, expected, path, headers, body) => {
    node.always(status(500));
    const url = gateway.address + path.replace('KEY', gateway.key);
    const response = await pageFetch(url, { headers: { ...json, ...headers }, body });
    node.always(undefined);
    expect([response.status, JSON.parse(response.text)]).toMatchObject([expected, { jsonrpc: '2.0', error: {} }]);
    expect(response.header('x-request-id')).toMatch(/^[0-9a-f]{6}-/);
  });

  it('405 for a GET', async () => {
    expect((await pageFetch(gateway.url('main'), { method: 'GET' })).status).toBe(405);
  });

  it('429, and the time to wait', async () => {
    let response: PageResponse | undefined;
    for (let tries = 0; tries < 4; tries++) {
      response = await pageFetch(`${gateway.address}/main/v3/${makeKey()}`, { headers: json, body: call });
    }
    expect([response?.status, response?.header('retry-after')]).toEqual([429, expect.stringMatching(/^\d\d$/)]);
  });
});

describe('Access-Control-Allow-Private-Network', () => {
  const named = 'https://wallet.example';
  const header = async (url: string, from: string): Promise<(string | null)[]> => {
    const headers = {
      origin: from,
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    };
    const { headers: given } = await fetch(url, { method: 'OPTIONS', headers });
    return [given.get('access-control-allow-private-network'), given.get('access-control-allow-origin')];
  };

  it('is for origins that the network or the key names, which are not *', async () => {
    expect(await header(gateway.url('private'), named)).toEqual(['true', named]);
    const ofKey = `${gateway.address}/main/v3/${keyWithOrigins}`;
    expect(await header(ofKey, 'https://a.team.example')).toEqual(['true', 'https://a.team.example']);
  });

  it.each([
    ['another origin of the network', () => gateway.url('private'), origin],
    ['another origin of the key', () => `${gateway.address}/main/v3/${keyWithOrigins}`, named],
    ['a network and a key that name none', () => gateway.url('main'), named],
    ['an unknown key', () => `${gateway.address}/main/v3/${makeKey()}`, named],
    ['an unknown network', () => `${gateway.address}/nowhere/v3/${gateway.key}`, named],
    ['an opaque origin', () => gateway.url('private'), 'null'],
  ])('is not for %s', async (_, url, from) => {
    expect(await header(url(), from)).toEqual([null, '*']);
  });

  it.each(['/', '/private', '/private/docs', '/openrpc.json', '/readyz', '/metrics', '/admin/keys'])(
    'is not for pages, probes and the admin API: %s',
    async (path) => {
      expect((await header(gateway.address + path, named))[0]).toBeNull();
      expect((await header(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}${path}`, named))[0]).toBeNull();
    },
  );

  it('is not for preflights that do not ask for it', async () => {
    const headers = await preflight(gateway.url('private'), 'POST', ['content-type'], named);
    expect(headers.get('access-control-allow-private-network')).toBeNull();
  });
});
