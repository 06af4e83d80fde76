import { describe, expect, it } from 'vitest';
import { parseUrl } from '../../gateway/config/parse-url.ts';
import { requiredOptions } from '../../gateway/network-files/providers.ts';
import { providerNames, providers } from '../../gateway/network-files/options/providers.generated.ts';
import { credentialsOf, Secrets } from '../../gateway/upstreams/transport/credentials.ts';
import { diagnosticsOf, loadFiles } from './load.ts';

/** Key without digits, so that nothing but its length shows that it is a key. */
const key = 'aBcDeFgHiJkLmNoP';
const env = { KEY: key, ENDPOINT: 'our-endpoint' };

const fileOf = (chainId: number, ...upstreams: string[]): string[] => [
  'name: Base',
  `chainId: ${chainId}`,
  'upstreams:',
  ...upstreams.map((upstream) => `  - ${upstream}`),
];
const upstreamsOf = (chainId: number, ...upstreams: string[]) =>
  loadFiles({ 'base.yaml': fileOf(chainId, ...upstreams).join('\n') }, env)[0]?.upstreams ?? [];
/** The upstream options that a provider needs, as in a file. */
const given = (provider: (typeof providerNames)[number]): string =>
  requiredOptions(provider)
    .map((option) => `, ${option}: '\${${option.toUpperCase()}}'`)
    .join('');

describe('an upstream with provider', () => {
  it('is an ordinary upstream with the URL of the provider, its name and the other options', () => {
    const lines = ["{ provider: alchemy, key: '${KEY}', priority: 2 }", '{ provider: publicnode, name: free }'];
    expect(upstreamsOf(8453, ...lines)).toEqual([
      {
        ...{ name: 'alchemy', url: `https://base-mainnet.g.alchemy.com/v2/${key}`, priority: 2 },
        ...{ headers: {}, archive: false, batch: 'auto', probe: 'on', audit: 'on', weight: 1 },
      },
      {
        ...{ name: 'free', url: 'https://base-rpc.publicnode.com', websocketUrl: 'wss://base-rpc.publicnode.com' },
        ...{ headers: {}, archive: false, batch: 'auto', priority: 0, probe: 'on', audit: 'on', weight: 1 },
      },
    ]);
  });

  it('has a WebSocket URL where the provider has one for the chain', () => {
    const infura = "{ provider: infura, key: '${KEY}' }";
    const urls = [1, 42220].map((chainId) => upstreamsOf(chainId, infura).map((each) => each.websocketUrl));
    expect(urls).toEqual([[`wss://mainnet.infura.io/ws/v3/${key}`], [undefined]]);
  });

  it('has the name of an endpoint in its URL if the provider’s URLs have one', () => {
    const quicknode = "{ provider: quicknode, endpoint: '${ENDPOINT}', key: '${KEY}' }";
    expect([1, 8453].flatMap((chainId) => upstreamsOf(chainId, quicknode).map(({ url }) => url))).toEqual([
      `https://our-endpoint.quiknode.pro/${key}`,
      `https://our-endpoint.base-mainnet.quiknode.pro/${key}`,
    ]);
  });

  it.each(providerNames)('of %s: every chain has valid URLs, from which the key is redacted', (provider) => {
    const ids = Object.keys(providers[provider].chains).map(Number);
    expect(ids.length).toBeGreaterThan(3);
    const upstream = `{ provider: ${provider}${given(provider)} }`;
    const files = ids.map((id) => [`c${id}.yaml`, fileOf(id, upstream).join('\n')]);
    const networks = loadFiles(Object.fromEntries(files) as Record<string, string>, env);
    expect(networks).toHaveLength(ids.length);
    for (const { url = '', websocketUrl } of networks.flatMap((network) => network.upstreams)) {
      const urls = websocketUrl === undefined ? [url] : [url, websocketUrl];
      expect(urls.filter((each) => parseUrl(each) === undefined || /[{}]/.test(each))).toEqual([]);
      for (const each of upstream.includes('key:') ? urls : []) {
        const secrets = new Secrets(credentialsOf(each, {}).secrets);
        expect(secrets.removeFrom(`${key} is unknown at ${new URL(each).host}`)).toBe(
          '<upstream> is unknown at <upstream>',
        );
      }
    }
  });
});

// prettier-ignore
const mistakes: [string, string[], string[]][] = [
  ['an unknown provider', fileOf(8453, "{ provider: alchmey, key: '${KEY}' }"),
    [`4:17 upstreams[0].provider: expected ${providerNames.slice(0, -1).join(', ')} or tenderly; did you mean alchemy?`]],
  ['a chain that the provider does not serve', fileOf(250, "{ provider: infura, key: '${KEY}' }"),
    ['4:17 upstreams[0].provider: infura does not serve chain 250; these do: blockpi, drpc, onfinality, publicnode']],
  ['a chain that none serves', fileOf(31337, "{ provider: infura, key: '${KEY}' }"),
    ['4:17 upstreams[0].provider: infura does not serve chain 31337; no known provider does: write its url']],
  ['a missing key', fileOf(1, '{ provider: drpc }'), ['4:5 upstreams[0].key is missing: URLs of drpc have one']],
  ['a key that is not needed', fileOf(1, "{ provider: publicnode, key: '${KEY}' }"),
    ['4:29 upstreams[0].key: remove it: URLs of publicnode have none']],
  ['a missing endpoint', fileOf(1, "{ provider: quicknode, key: '${KEY}' }"),
    ['4:5 upstreams[0].endpoint is missing: URLs of quicknode have one']],
  ['a variable that is not set', fileOf(1, "{ provider: drpc, key: '${NOPE}' }"),
    ['4:28 upstreams[0].key: the environment has no NOPE; set it, or write ${NOPE:-default}']],
  ['a URL for a key', fileOf(1, '{ provider: drpc, key: https://lb.example/aBcDeFgHiJkLmNoP }'),
    ['4:28 upstreams[0].key: expected the key alone, not a URL: 16 or more letters, digits, hyphens, dots and underscores']],
  ['a short key, which would not be redacted', fileOf(1, '{ provider: drpc, key: aBcDeFgHiJkLmNo }'),
    ['4:28 upstreams[0].key: expected the key alone, not a URL: 16 or more letters, digits, hyphens, dots and underscores']],
  ['an endpoint that is a host', fileOf(1, "{ provider: quicknode, endpoint: our.host, key: '${KEY}' }"),
    ['4:38 upstreams[0].endpoint: expected the name alone, not a URL']],
  ['provider and url', fileOf(1, "{ provider: drpc, key: '${KEY}', name: one, url: https://one.example }"),
    ['4:5 upstreams[0]: expected url, websocketUrl or both, or else spawn, or else provider']],
  ['a key without a provider', fileOf(1, "{ name: one, url: https://one.example, key: '${KEY}' }"),
    [`4:5 upstreams[0].provider is missing: expected ${providerNames.slice(0, -1).join(', ')} or tenderly`]],
  ['two upstreams of one provider without names', fileOf(1, "{ provider: drpc, key: '${KEY}' }", "{ provider: drpc, key: '${KEY}' }"),
    ['5:5 upstreams[1].name is the same as upstreams[0].name: metrics need a unique name']],
];

describe('`check` has one diagnostic for', () => {
  it.each(mistakes)('%s', (_, lines, diagnostics) => {
    expect(diagnosticsOf(lines, env)).toEqual(diagnostics);
  });
});
