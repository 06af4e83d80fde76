import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';

let node: FakeNode;
let gateway: TestGateway;
beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  const two = network(5, [node.url], {
    baseUrls: ['https://two.example.org'],
    methods: ['eth_chainId', 'rpc.discover'],
  });
  gateway = await startGateway({ one: network(5, [node.url]), two });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const paths = ['/openrpc.json', '/one/openrpc.json', '/two/openrpc.json'];

describe.each(paths)('%s', (path) => {
  const get = (headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${gateway.address}${path}`, { headers });

  it('has an ETag, with which an unchanged document is 304 without a body', async () => {
    const first = await get();
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{24}"$/);
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect(first.headers.get('access-control-allow-origin')).toBe('*');
    expect(Number(first.headers.get('content-length'))).toBe((await first.arrayBuffer()).byteLength);
    for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get({ 'if-none-match': tags });
      expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    }
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('is serialised once, for any number of hosts', async () => {
    await get();
    await gateway.call('one', 'rpc.discover');
    const stringify = vi.spyOn(JSON, 'stringify');
    for (let count = 0; count < 5; count++) {
      expect((await get({ 'x-forwarded-host': `host-${count}.example.org` })).status).toBe(200);
      await gateway.call('one', 'rpc.discover');
    }
    const sizes = stringify.mock.results.map(({ value }) => (value as string | undefined)?.length ?? 0);
    expect(sizes.length).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThan(2_000);
  });
});

it('the ETags of different documents differ', async () => {
  const tags = await Promise.all(
    paths.map(async (path) => (await fetch(`${gateway.address}${path}`)).headers.get('etag')),
  );
  expect(new Set(tags).size).toBe(3);
});

it('rpc.discover returns the same document', async () => {
  for (const slug of ['one', 'two']) {
    const page = await (await fetch(`${gateway.address}/${slug}/openrpc.json`)).json();
    expect((await gateway.call(slug, 'rpc.discover')).result).toEqual(page);
  }
});
