import { describe, expect, it } from 'vitest';
import { checkBaseUrl } from '../../gateway/network-files/options/check-texts.ts';
import { NetworkFinder } from '../../gateway/networks/find-network.ts';
import type { NetworkConfig } from '../../gateway/network-files/network-config.ts';
import { configOf, diagnosticsIn, good, loadFiles } from '../network-files/load.ts';

const key = 'gh_0123456789ABCDEFGHIJKLMNOPQRSTUV';

describe('a request finds the network', () => {
  const finder = finderOf({
    mainnet: ['https://mainnet.example.org', 'http://localhost:8545/eth', 'https://[2001:db8::1]/main'],
    sepolia: ['https://sepolia.example.org/', 'https://rpc.example.org/test/sepolia/'],
    zksync: ['https://mainnet.example.org:8443', 'https://rpc.example.org/zk'],
  });

  it.each([
    ['/sepolia/v3/KEY', 'any.example', 'sepolia'],
    ['/sepolia/v3/KEY', undefined, 'sepolia'],
    ['/sepolia/v3/KEY', 'mainnet.example.org', 'sepolia'],
    ['/v3/KEY', 'mainnet.example.org', 'mainnet'],
    ['/v3/KEY', 'MAINNET.Example.Org', 'mainnet'],
    ['/v3/KEY', 'mainnet.example.org:80', 'mainnet'],
    ['/v3/KEY', 'mainnet.example.org:8443', 'zksync'],
    ['/v3/KEY', 'sepolia.example.org', 'sepolia'],
    ['/test/sepolia/v3/KEY', 'rpc.example.org', 'sepolia'],
    ['/zk/v3/KEY', 'rpc.example.org:443', 'zksync'],
    ['/eth/v3/KEY', 'localhost:8545', 'mainnet'],
    ['/main/v3/KEY', '[2001:db8::1]', 'mainnet'],
    ['/main/v3/KEY', '[2001:db8::1]:8545', 'mainnet'],
    ['/sepolia/v3/KEY?project=1&x=/v3/other', 'a', 'sepolia'],
    ['/sepolia/v3/KEY/', 'a', 'sepolia'],
    ['//sepolia//v3//KEY//', 'a', 'sepolia'],
    ['//v3/KEY', 'mainnet.example.org', 'mainnet'],
    ['http://a/sepolia/v3/KEY', 'a', 'sepolia'],
    ['HTTPS://mainnet.example.org/v3/KEY', 'mainnet.example.org', 'mainnet'],
  ])('%s at %s', (url, host, slug) => {
    expect(finder.find(url.replace('KEY', key), host)).toMatchObject({ network: { config: { slug } }, key });
  });

  it.each([
    ['/sepolia/ws/v3/KEY', 'any.example', 'sepolia'],
    ['/ws/v3/KEY', 'mainnet.example.org', 'mainnet'],
    ['/zk/ws/v3/KEY', 'rpc.example.org', 'zksync'],
    ['//sepolia//ws//v3//KEY//?x', 'a', 'sepolia'],
  ])('%s at %s, for WebSocket', (url, host, slug) => {
    const route = { network: { config: { slug } }, key, isWebSocket: true };
    expect(finder.find(url.replace('KEY', key), host)).toMatchObject(route);
    expect(finder.find(url.replace('KEY', key).replace(/\/+ws/, ''), host)).toMatchObject({
      ...route,
      isWebSocket: false,
    });
  });

  it.each([
    ['/sepolia/v3', ''],
    ['/sepolia/v3/', ''],
    ['/sepolia/v3//', ''],
    ['/sepolia/v3?key=x', ''],
    ['/sepolia/v3/x', 'x'],
    ['/sepolia/v3/%2e%2e', '%2e%2e'],
  ])('%s, with %j at the position of the key', (url, text) => {
    expect(finder.find(url, 'a')).toMatchObject({ network: { config: { slug: 'sepolia' } }, key: text });
  });
});

describe('a request finds no network', () => {
  const finder = finderOf({ mainnet: ['https://mainnet.example.org', 'https://rpc.example.org:8443/eth'] });

  it.each([
    ['/v3/KEY', 'other.example.org'],
    ['/v3/KEY', undefined],
    ['/v3/KEY', 'mainnet.example.org.evil.example'],
    ['/eth/v3/KEY', 'rpc.example.org'],
    ['/eth/v3/KEY', 'rpc.example.org:443'],
    ['/Mainnet/v3/KEY', 'a'],
    ['/mainnet/x/v3/KEY', 'a'],
    ['/ws/mainnet/v3/KEY', 'a'],
    ['/mainnetws/v3/KEY', 'a'],
    ['/a/mainnet/v3/KEY', 'a'],
    ['/constructor/v3/KEY', 'a'],
    ['/__proto__/v3/KEY', '__proto__'],
  ])('%s at %s: valid form, unknown base URL', (url, host) => {
    expect(finder.find(url.replace('KEY', key), host)).toMatchObject({ network: undefined, key });
  });

  it.each(['/', '', '*', '/mainnet', '/mainnet/', '/metrics', '/mainnet/v2/KEY', '/mainnet/v3/KEY/more', '/v3x/KEY'])(
    'at %j, which is not of the form <base>/v3/<KEY>',
    (url) => {
      expect(finder.find(url.replace('KEY', key), 'mainnet.example.org')).toBeUndefined();
    },
  );
});

describe('base URLs', () => {
  const withBaseUrls = (...baseUrls: string[]): string =>
    [...good, `baseUrls: ${JSON.stringify(baseUrls)}`, ''].join('\n');
  const diagnosticsOf = (baseUrl: string): string[] => diagnosticsIn({ 'base.yaml': withBaseUrls(baseUrl) });

  it.each([
    'https://base.example.org',
    'http://localhost:8545/base',
    'https://base.example.org/',
    'https://Base.Example.org',
    'https://base.example.org:443',
    'https://a.example.org/one/two',
    'https://a.example.org//one',
    'https://[::1]:8545/x',
    'https://a.example.org/base',
    'https://a.example.org/x/metrics',
  ])('accept %s', (baseUrl) => {
    expect(diagnosticsOf(baseUrl)).toEqual([]);
  });

  it.each([
    ['base.example.org', 'expected http or https URL without query'],
    ['wss://base.example.org', 'expected http or https URL without query'],
    ['https://base.example.org?x', 'expected http or https URL without query'],
    ['https://base.example.org/#x', 'expected http or https URL without query'],
    ['https://me:secret@base.example.org', 'expected http or https URL without query'],
    ['https://', 'expected http or https URL without query'],
    ['https://base.example.org:99999', 'expected http or https URL without query'],
    ['https://base.example.org/a/../b', 'clients send this as https://base.example.org/b; write that'],
    ['https://bäse.example.org', 'clients send this as https://xn--bse-qla.example.org; write that'],
    ['https://base.example.org/ä', 'clients send this as https://base.example.org/%C3%A4; write that'],
    ['https://0x7f000001/x', 'clients send this as https://127.0.0.1/x; write that'],
    ['https://base.example.org/v3', 'remove /v3: the gateway adds it'],
    ['https://base.example.org/x/v3/', 'remove /v3: the gateway adds it'],
    ['https://base.example.org/ws', 'remove /ws: the gateway adds it'],
    ['https://base.example.org/metrics', '/metrics is reserved for the gateway'],
    ['https://base.example.org/status/x', '/status is reserved for the gateway'],
  ])('reject %s', (baseUrl, problem) => {
    expect(diagnosticsOf(baseUrl)).toEqual([`base.yaml:6:12 baseUrls[0]: ${problem}`]);
  });

  it('are valid or not, also after thousands of checks', () => {
    const problems = new Set(Array.from({ length: 20_000 }, () => checkBaseUrl('https://bäse.example.org')));
    expect([...problems]).toEqual(['clients send this as https://xn--bse-qla.example.org; write that']);
  });

  it('belong to one network only', () => {
    const files = {
      'a.yaml': withBaseUrls('https://one.example.org', 'https://rpc.example.org/x', 'https://rpc.example.org:8443/x'),
      'b.yaml': withBaseUrls('https://two.example.org', 'http://ONE.example.org/'),
      'c.yaml': withBaseUrls('https://rpc.example.org/x/', 'https://rpc.example.org/x/y'),
    };
    expect(diagnosticsIn(files)).toEqual([
      'b.yaml:6:38 baseUrls[1]: http://ONE.example.org/ is also a base URL of a',
      'c.yaml:6:12 baseUrls[0]: https://rpc.example.org/x/ is also a base URL of a',
    ]);
  });

  it('can be listed twice by one network, with https and http', () => {
    expect(loadFiles({ 'a.yaml': withBaseUrls('https://a.example.org', 'http://a.example.org/') })).toHaveLength(1);
  });

  it('cannot end in the slug of another network', () => {
    const files = {
      'a.yaml': withBaseUrls('https://x.example.org/b', 'https://x.example.org/b/c'),
      'b.yaml': withBaseUrls(),
    };
    expect(diagnosticsIn(files)).toEqual([
      'a.yaml:6:12 baseUrls[0]: https://x.example.org/b is taken: network b has this path on every host',
    ]);
    expect(diagnosticsIn({ 'b.yaml': withBaseUrls('https://x.example.org/b') })).toEqual([]);
  });

  it('are compared even if a file has other diagnostics', () => {
    const files = {
      'a.yaml': `${withBaseUrls('https://a.example.org')}colour: red\n`,
      'b.yaml': withBaseUrls('https://a.example.org'),
    };
    expect(diagnosticsIn(files)).toEqual([
      'a.yaml:7:1 colour is not known',
      'b.yaml:6:12 baseUrls[0]: https://a.example.org is also a base URL of a',
    ]);
  });
});

function finderOf(baseUrls: Record<string, string[]>): NetworkFinder<{ config: NetworkConfig }> {
  const networks = Object.entries(baseUrls).map(([slug, urls]) => ({
    config: { ...configOf(slug), baseUrls: urls },
  }));
  return new NetworkFinder(networks);
}
