import { hash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

const secret = 'S3cretOfAProvider';
const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const json = 'application/json';
const opened: TestGateway[] = [];
let node: FakeNode;
let gateway: TestGateway;

async function open(env: Record<string, string> = {}): Promise<TestGateway> {
  const five = network(5, [`${node.url}/v2/${secret}`], { baseUrls: ['https://five.example.org/eth'] });
  const two = network(6, [node.url, 'http://127.0.0.1:1'], { methods: ['eth_chainId', 'debug_traceCall'] });
  const started = await startGateway({ five, two }, env);
  opened.push(started);
  return started;
}

const get = (path: string, accept = '*/*', address = gateway.address): Promise<Response> =>
  fetch(address + path, { headers: { accept } });
const jsonAt = async (path: string, accept = json, address = gateway.address): Promise<Record<string, unknown>> =>
  (await (await get(path, accept, address)).json()) as Record<string, unknown>;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_blockNumber: '0x10' } });
  gateway = await open();
});
afterEach(async () => {
  for (const one of opened.splice(1)) await one.stop();
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

describe('the status as JSON', () => {
  it('is at its root and at each base URL, with names and without URLs', async () => {
    await gateway.call('five', 'eth_blockNumber');
    const root = await get('/', json);
    expect([root.status, root.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    const text = await root.text();
    for (const hidden of [secret, node.url, '127.0.0.1:1']) expect(text).not.toContain(hidden);
    const { scope, networks } = JSON.parse(text) as { scope: string; networks: Record<string, unknown>[] };
    expect([scope, networks.map(({ slug }) => slug)]).toEqual(['gateway', ['five', 'two']]);
    expect(networks[0]).toMatchObject({
      ...{ name: 'Test 5', chainId: 5, head: 16 },
      upstreams: [{ name: 'node-0', state: 'up' }],
    });
    expect(networks[1]).toMatchObject({ upstreams: [{ state: 'unused' }, { state: 'unused' }] });
    expect(networks[1]).not.toHaveProperty('methods');
    const [two] = ((await jsonAt('/two')) as unknown as { networks: object[] }).networks;
    expect(two).toMatchObject({ methods: ['eth_chainId', 'debug_traceCall'] });
    for (const path of ['/five', '/five/', '//five'])
      expect(await jsonAt(path)).toMatchObject({ scope: 'network', networks: [{ slug: 'five' }] });
    const [five] = ((await jsonAt('/five')) as unknown as { networks: object[] }).networks;
    expect(five).toMatchObject({
      currency: { symbol: 'ETH', decimals: 18 },
      upstreams: [{ name: 'node-0', state: 'up', head: 16, lag: 0, history: [] }],
    });
  });

  it('sends nothing to upstreams', async () => {
    const before = node.calls.length;
    await jsonAt('/');
    await jsonAt('/two');
    expect(node.calls.length).toBe(before);
  });

  it('shows which upstreams fail or are on another chain', async () => {
    const other = await open();
    await other.call('two', 'debug_traceCall');
    const { networks } = (await jsonAt('/two', json, other.address)) as {
      networks: { upstreams: { state: string; skipReason?: string }[] }[];
    };
    expect(networks[0]?.upstreams.map(({ state }) => state)).toEqual(['other-chain', 'failing']);
    // The circuit of the other one is open for less than a second.
    expect(networks[0]?.upstreams[0]?.skipReason).toBe('other-chain');
  });

  it.each(['public', 'ops'])(
    'shows the active configuration and the diagnostics of invalid files: %s',
    async (where) => {
      const one = await open({ STATUS_PAGE: where, ...(where === 'ops' && { OPS_PORT: '0' }) });
      const port = where === 'ops' ? one.gateway.opsPort : one.gateway.port;
      one.save({ five: `name: Five\nchainId: ${secret}\nupstreams: []\n` });
      await one.gateway.reload();
      const { configuration, networks } = await jsonAt('/', json, `http://127.0.0.1:${port ?? 0}`);
      const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
      const [first, second] =
        where === 'public'
          ? ['five.yaml:2:10', 'five.yaml:3:12']
          : [/\/five\.yaml:2:10 chainId: expected /, /\/five\.yaml:3:12 upstreams: expected /].map(
              (pattern) => expect.stringMatching(pattern) as string,
            );
      expect(configuration).toEqual({
        digest: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        loadedAt: isoTime,
        refused: { at: isoTime, mistakes: [first, second] },
      });
      expect(JSON.stringify(configuration)).not.toContain(secret);
      expect(networks).toHaveLength(2);
    },
  );

  it.each(['/nope', '/five/nope', '/nope/docs', '/nope/openrpc.json', '/five/v3/key'])('is not at %s', async (path) => {
    expect([404, 405]).toContain((await get(path, json)).status);
  });

  it('is only returned to clients that accept JSON', async () => {
    const response = await get('/');
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: -32002 } }]);
  });
});

describe('pages', () => {
  it.each(['/', '/five', '/docs', '/five/docs', '/five/v3/some-key', '/five/ws/v3/some-key', '/v3/some-key'])(
    '%s allows only its inlined scripts and styles',
    async (path) => {
      const response = await get(path, html);
      const text = await response.text();
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('x-request-id')).not.toBeNull();
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(
        /^default-src 'none'; script-src('? 'sha256-[\w+/=]+')+; style-src( 'sha256-[\w+/=]+')+; img-src data:; .*; connect-src 'self'/,
      );
      expect(policy).not.toMatch(/unsafe|\*/);
      const inline = [...text.matchAll(/<(script|style)>(.*?)<\/\1>/gs)].map(([, , body = '']) => body);
      expect(inline.length).toBeGreaterThan(2);
      for (const body of inline) expect(policy).toContain(`'sha256-${hash('sha256', body, 'base64')}'`);
      expect(text).not.toMatch(
        /some-key|<script [^>]*src|<link rel="stylesheet"| on\w+="|https?:\/\/(?!www\.w3\.org\/|github\.com\/leeoniya\/uPlot)/,
      );
    },
  );

  it('may call base URLs of network files from the method reference only', async () => {
    expect((await get('/docs', html)).headers.get('content-security-policy')).toContain(
      "connect-src 'self' https://five.example.org",
    );
    expect((await get('/', html)).headers.get('content-security-policy')).toMatch(/connect-src 'self'$/);
  });

  it.each(['/nope', '/nope/v3/some-key', '/nope/ws/v3/some-key', '/metrics/nope'])(
    'a browser that opens the wrong address %s gets a page with a way on, and programs get JSON',
    async (path) => {
      const response = await get(path, html);
      const text = await response.text();
      expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(response.headers.get('content-security-policy')).toContain("script-src 'none'");
      expect(response.headers.get('x-request-id')).not.toBeNull();
      expect(text).toContain('<a href="/">Networks of this gateway</a>');
      expect(text).not.toMatch(/nope|some-key/);
      expect(await jsonAt(path)).toMatchObject({ error: { code: -32002 } });
    },
  );

  it('without a status page, the page for a wrong address has no link to it', async () => {
    const { address } = await open({ STATUS_PAGE: 'off' });
    const text = await (await get('/nope', html, address)).text();
    expect(text).toContain('There is no network or page at this address');
    expect(text).not.toContain('Networks of this gateway');
  });

  it('are not sent to API clients, which get an error', async () => {
    for (const accept of ['*/*', json]) {
      const response = await get(`/five/v3/${gateway.key}`, accept);
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
      expect(await response.json()).toMatchObject({ error: { code: -32600 } });
    }
    const posted = await gateway.post('five', '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}', { accept: html });
    expect(await posted.json()).toEqual({ jsonrpc: '2.0', id: 1, result: '0x5' });
  });

  it('are found by host too', async () => {
    const { request } = await import('node:http');
    const status = await new Promise((resolve) => {
      const options = { port: gateway.gateway.port, path: '/eth', headers: { host: 'five.example.org', accept: json } };
      request(options, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end();
    });
    expect(status).toBe(200);
  });
});

describe('STATUS_PAGE', () => {
  it('off: there is no page, and browsers get the same error as programs', async () => {
    const { address, key } = await open({ STATUS_PAGE: 'off' });
    const statuses = ['/', '/five', `/five/v3/${key}`].map(async (path) => (await get(path, html, address)).status);
    expect(await Promise.all(statuses)).toEqual([404, 404, 405]);
    expect((await get('/', json, address)).status).toBe(404);
    expect((await get('/five/docs', html, address)).status).toBe(200);
  });

  it('ops: the page is on the ops port only, and contains the port for calls', async () => {
    const { address, gateway: parts } = await open({ STATUS_PAGE: 'ops', OPS_PORT: '0' });
    const ops = `http://127.0.0.1:${parts.opsPort ?? 0}`;
    expect((await get('/', html, address)).status).toBe(404);
    expect((await get('/five', html, ops)).status).toBe(200);
    expect(await jsonAt('/five', json, ops)).toMatchObject({ port: parts.port, docs: false });
    expect((await get('/docs', html, ops)).status).toBe(404);
  });

  it('public: the page is not on the ops port', async () => {
    const { gateway: parts } = await open({ OPS_PORT: '0' });
    expect((await get('/', html, `http://127.0.0.1:${parts.opsPort ?? 0}`)).status).toBe(404);
  });

  it('ops without OPS_PORT is invalid', async () => {
    await expect(open({ STATUS_PAGE: 'ops' })).rejects.toThrow('STATUS_PAGE: ops requires OPS_PORT, which is not set');
  });
});

describe('openrpc.json', () => {
  it('has all methods at the root, and those of the network at a base URL', async () => {
    const whole = (await jsonAt('/openrpc.json', '*/*')) as { methods: unknown[]; servers: { url: string }[] };
    expect(whole.methods.length).toBeGreaterThan(30);
    expect(whole.servers.map(({ url }) => url)).toContain('https://five.example.org/eth/v3/${key}');
    const two = (await jsonAt('/two/openrpc.json', '*/*')) as {
      methods: { name: string }[];
      servers: { url: string }[];
    };
    expect(two.methods.map(({ name }) => name)).toEqual(['eth_chainId', 'debug_traceCall']);
    expect(two.servers[0]?.url).toBe(`${gateway.address}/two/v3/\${key}`);
  });

  it.each([
    ['https', '127.0.0.1', 'https'],
    ['evil, https', '127.0.0.1', 'https'],
    ['gopher', '127.0.0.1', 'http'],
    ['https', '192.0.2.1', 'http'],
  ])('uses the client’s scheme: X-Forwarded-Proto %s, trusted proxy %s: %s', async (forwarded, trusted, scheme) => {
    const behind = await open({ TRUSTED_PROXIES: trusted });
    const response = await fetch(`${behind.address}/two/openrpc.json`, { headers: { 'x-forwarded-proto': forwarded } });
    const { servers } = (await response.json()) as { servers: { url: string }[] };
    const at = behind.address.replace('http:', `${scheme}:`);
    expect(servers.map(({ url }) => url)).toEqual([
      `${at}/two/v3/\${key}`,
      `${at.replace('http', 'ws')}/two/ws/v3/\${key}`,
    ]);
  });
});
