import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NetworkFilesError } from '../../../gateway/network-files/load-networks.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openRaw, post } from './raw-connection.ts';

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 1 });
  const served = (chainId: number, ...baseUrls: string[]): object => network(chainId, [node.url], { baseUrls });
  gateway = await startGateway({
    one: served(1, 'https://one.example.org', 'http://chains.example.org/one'),
    two: served(2, 'http://Chains.Example.org/two/', 'https://example.org:8443/deep/er/two'),
    three: served(3, 'http://chains.example.org', 'https://one.example.org:9000'),
    four: served(4, 'http://[::1]:7000/four-six', 'http://10.0.0.5'),
    five: served(5),
  });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

/** The chain id that an address returns, or the HTTP status of a rejection. */
async function chainAt(host: string, path: string): Promise<string> {
  const connection = await openRaw(gateway.gateway.port);
  const call = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
  connection.send(post(path.replace('KEY', gateway.key), call, { host }));
  const { status, body } = await connection.response();
  connection.destroy();
  return status === 200 ? `chain ${(JSON.parse(body) as { result: string }).result}` : `HTTP ${status}`;
}

describe('a network is served at its base URL', () => {
  it.each([
    ['by host', 'one.example.org', '/v3/KEY', 'chain 1'],
    ['by host, whatever the port', 'one.example.org:8545', '/v3/KEY', 'chain 1'],
    ['by host and port, before the host alone', 'one.example.org:9000', '/v3/KEY', 'chain 3'],
    ['by host, in any case', 'ONE.Example.ORG', '/v3/KEY', 'chain 1'],
    ['by host and path', 'chains.example.org', '/one/v3/KEY', 'chain 1'],
    ['by host and another path', 'chains.example.org', '/two/v3/KEY', 'chain 2'],
    ['by the same host without a path', 'chains.example.org', '/v3/KEY', 'chain 3'],
    ['by a path of several parts', 'example.org:8443', '/deep/er/two/v3/KEY', 'chain 2'],
    ['by an IPv6 address', '[::1]:7000', '/four-six/v3/KEY', 'chain 4'],
    ['by an IPv4 address', '10.0.0.5:8545', '/v3/KEY', 'chain 4'],
    ['with doubled slashes', 'chains.example.org', '//one//v3//KEY/', 'chain 1'],
  ])('%s', async (_, host, path, expected) => {
    expect(await chainAt(host, path)).toBe(expected);
  });

  it.each([
    ['under another host', 'two.example.org', '/v3/KEY'],
    ['under a host with the same ending', 'not-one.example.org', '/v3/KEY'],
    ['under a host with the same beginning', 'one.example.org.evil.test', '/v3/KEY'],
    ['under the host of a path', 'example.org:8443', '/v3/KEY'],
    ['under another port than that of the base URL', 'example.org:8444', '/deep/er/two/v3/KEY'],
    ['under a part of the path', 'example.org:8443', '/deep/v3/KEY'],
    ['under the path in another case', 'chains.example.org', '/ONE/v3/KEY'],
    ['under the path of another host', '10.0.0.5', '/four-six/v3/KEY'],
    ['under no host', '', '/v3/KEY'],
    ['under an invalid host', ':::', '/v3/KEY'],
  ])('and not %s', async (_, host, path) => {
    expect(await chainAt(host, path)).toBe('HTTP 404');
  });

  it.each(['one.example.org', 'chains.example.org', 'localhost:8545', '10.0.0.5', '[::1]', 'anything.test', ''])(
    'and by its slug under any host: %s',
    async (host) => {
      expect(await chainAt(host, '/five/v3/KEY')).toBe('chain 5');
      expect(await chainAt(host, '/one/v3/KEY')).toBe('chain 1');
    },
  );

  it('with one key for all', async () => {
    for (const id of [1, 2, 3, 4, 5]) {
      const slug = ['one', 'two', 'three', 'four', 'five'][id - 1] ?? '';
      expect(await gateway.call(slug, 'eth_chainId')).toMatchObject({ result: `0x${id.toString(16)}` });
    }
  });
});

describe('a gateway does not start, and names the file,', () => {
  const urls = ['http://127.0.0.1:1'];

  it.each(['v3', 'ws', 'metrics', 'livez', 'readyz', 'healthz'])('with a network called %s', async (slug) => {
    const starting = startGateway({ [slug]: network(1, urls) });
    await expect(starting).rejects.toBeInstanceOf(NetworkFilesError);
    await expect(starting).rejects.toThrow(
      new RegExp(`/${slug}\\.yaml:1:1 .*${slug} is reserved for a path of the gateway`),
    );
  });

  it.each(['Upper', 'under_score', '-first', 'a.b', 'ä'])('with a slug that is not allowed: %s', async (slug) => {
    const starting = startGateway({ [slug]: network(1, urls) });
    await expect(starting).rejects.toBeInstanceOf(NetworkFilesError);
    await expect(starting).rejects.toThrow(`/${slug}.yaml:1:1 `);
  });

  it.each([
    ['https://a.example.org', 'https://a.example.org'],
    ['https://a.example.org', 'http://a.example.org'],
    ['https://a.example.org', 'https://A.example.org/'],
    ['https://a.example.org/x', 'https://a.example.org//x/'],
  ])('with a base URL that two networks claim: %s and %s', async (first, second) => {
    const file = (baseUrl: string): string =>
      `name: X\nchainId: 1\nbaseUrls:\n  - ${baseUrl}\nupstreams: [{ name: n, url: ${urls[0] ?? ''} }]\n`;
    const starting = startGateway({ ay: file(first), bee: file(second) });
    await expect(starting).rejects.toBeInstanceOf(NetworkFilesError);
    await expect(starting).rejects.toThrow(/\/bee\.yaml:4:5 .* ay$/m);
  });

  it.each(['http://a.example.org/metrics', 'http://a.example.org/v3/x', 'http://a.example.org/ws'])(
    'with a base URL at a path of the gateway: %s',
    async (baseUrl) => {
      const starting = startGateway({ ay: network(1, urls, { baseUrls: [baseUrl] }) });
      await expect(starting).rejects.toBeInstanceOf(NetworkFilesError);
      await expect(starting).rejects.toThrow(/\/ay\.yaml:1:\d+ /);
    },
  );

  it('with a base URL at the slug of another network', async () => {
    const ay = network(1, urls, { baseUrls: ['http://a.example.org/bee'] });
    const starting = startGateway({ ay, bee: network(2, urls) });
    await expect(starting).rejects.toBeInstanceOf(NetworkFilesError);
    await expect(starting).rejects.toThrow(/\/ay\.yaml:1:\d+ .*bee/);
  });
});
