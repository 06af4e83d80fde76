import { describe, expect, it } from 'vitest';
import { addressOf, banner, type BannerFacts } from '../../gateway/cli/banner.ts';
import type { NetworkConfig } from '../../gateway/network-files/network-config.ts';
import { configOf } from '../network-files/load.ts';

const network = (slug: string, more: Partial<NetworkConfig> = {}): NetworkConfig => ({
  ...configOf(slug, { name: slug.toUpperCase(), methods: ['eth_chainId'] }),
  ...more,
});

const facts: BannerFacts = {
  command: 'npx gatehouse-rpc',
  version: '1.2.3',
  host: '127.0.0.1',
  port: 8545,
  opsPort: undefined,
  statusPage: undefined,
  keysPage: undefined,
  hasPackageNetworks: false,
  networks: [network('base'), network('ethereum')],
  leftOut: [],
  keyPlace: 'in Redis (REDIS_URL)',
  developmentKey: undefined,
  funded: undefined,
  tryIt: undefined,
};

const linesOf = (more: Partial<BannerFacts>): string[] => banner({ ...facts, ...more }).split('\n');

describe('an address', () => {
  it('has brackets around an IPv6 address', () => {
    expect(addressOf('::1', 80)).toBe('http://[::1]:80');
    expect(addressOf('localhost', 80)).toBe('http://localhost:80');
    expect(linesOf({ host: '::1' })[0]).toBe('Gatehouse 1.2.3 listens on http://[::1]:8545');
  });
});

describe('the banner', () => {
  it('lists every base URL of a network, names in one column', () => {
    const withBaseUrls = network('base', { baseUrls: ['https://base.example.org', 'https://rpc.example.org/base'] });
    expect(linesOf({ networks: [withBaseUrls, network('ethereum')] }).slice(3, 8)).toEqual([
      'Networks',
      '  BASE      http://127.0.0.1:8545/base/v3/<key>',
      '            https://base.example.org/v3/<key>',
      '            https://rpc.example.org/base/v3/<key>',
      '  ETHEREUM  http://127.0.0.1:8545/ethereum/v3/<key>',
    ]);
  });

  it('shows networks that are not served, the metrics port and the pages for operators', () => {
    const pages = { statusPage: 'http://127.0.0.1:8545/', keysPage: 'http://127.0.0.1:9000/keys' };
    const lines = linesOf({ ...pages, leftOut: ['local is left out: it has no node'], opsPort: 9000, networks: [] });
    expect(lines).toEqual([
      'Gatehouse 1.2.3 listens on http://127.0.0.1:8545',
      'Metrics and health: port 9000',
      'Status page: http://127.0.0.1:8545/',
      'Keys page: http://127.0.0.1:9000/keys',
      '',
      'Networks',
      '  local is left out: it has no node',
      '',
      'Keys: in Redis (REDIS_URL), as digests only',
      'Create a key: npx gatehouse-rpc keys create --name alice',
      '',
    ]);
  });

  it('says that the networks are those of the package', () => {
    expect(linesOf({ hasPackageNetworks: true }).slice(1, 4)).toEqual([
      'Keys page: off, needs OPS_PORT and ADMIN_TOKEN',
      '',
      'Networks of the package, with public endpoints, because there is no folder networks here (npx gatehouse-rpc init)',
    ]);
  });

  it('ends with an example: the given line, or a call that needs no upstream', () => {
    const developmentKey = 'gh_key';
    expect(linesOf({ developmentKey, tryIt: 'curl it' }).slice(-5)).toEqual([
      '',
      'Try it in another shell (more: npx gatehouse-rpc demo):',
      '',
      'curl it',
      '',
    ]);
    expect(linesOf({ developmentKey }).at(-2)).toBe(
      "curl -sSw '\\n' http://127.0.0.1:8545/base/v3/gh_key -H 'content-type: application/json' " +
        `-d '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'`,
    );
  });

  it('shows the accounts of the local chain', () => {
    const accounts = [
      { address: '0xaa', privateKey: '0x01' },
      { address: '0xbb', privateKey: '0x02' },
    ];
    const lines = linesOf({ funded: { mnemonic: 'test junk', balance: 10_000, accounts } });
    expect(lines.slice(lines.indexOf('') + 4, -3)).toEqual([
      '',
      'Accounts of the local chain, with 10000 ETH each: address and private key, both public',
      '  (0) 0xaa 0x01',
      '  (1) 0xbb 0x02',
      '  Mnemonic: test junk',
      '',
    ]);
  });

  it('has no example if no network serves its method', () => {
    const last = 'Development key, for this machine only: gh_key';
    expect(linesOf({ developmentKey: 'gh_key', networks: [] }).at(-2)).toBe(last);
    expect(linesOf({ developmentKey: 'gh_key', networks: [network('a', { methods: [] })] }).at(-2)).toBe(last);
  });
});
