import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as chains from 'viem/chains';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { loadNetworks } from '../../gateway/network-files/load-networks.ts';
import { knownMethods } from './load.ts';

const folder = join(packageRoot, 'networks');
const shipped = loadNetworks({ folder, knownMethods, env: {} });
const reachable = shipped.filter(({ slug }) => slug !== 'local');
const fileOf = (slug: string): string => readFileSync(join(folder, `${slug}.yaml`), 'utf8');

/** viem's chain, the chain id and the currency symbol of each network. */
const known = {
  'arbitrum-one': [chains.arbitrum, 42161, 'ETH'],
  avalanche: [chains.avalanche, 43114, 'AVAX'],
  base: [chains.base, 8453, 'ETH'],
  'bnb-smart-chain': [chains.bsc, 56, 'BNB'],
  celo: [chains.celo, 42220, 'CELO'],
  'ethereum-mainnet': [chains.mainnet, 1, 'ETH'],
  hoodi: [chains.hoodi, 560048, 'ETH'],
  linea: [chains.linea, 59144, 'ETH'],
  mantle: [chains.mantle, 5000, 'MNT'],
  'op-mainnet': [chains.optimism, 10, 'ETH'],
  polygon: [chains.polygon, 137, 'POL'],
  scroll: [chains.scroll, 534352, 'ETH'],
  sepolia: [chains.sepolia, 11155111, 'ETH'],
  'zksync-era': [chains.zksync, 324, 'ETH'],
  'zksync-sepolia': [chains.zksyncSepoliaTestnet, 300, 'ETH'],
} as const satisfies Record<string, readonly [chains.Chain, number, string]>;

/** Networks whose name differs from viem's, with the reason. */
const otherNames: Readonly<Record<string, { ours: string; viems: string; because: string }>> = {
  avalanche: { ours: 'Avalanche C-Chain', viems: 'Avalanche', because: 'Avalanche has an X- and a P-Chain too' },
  'ethereum-mainnet': { ours: 'Ethereum Mainnet', viems: 'Ethereum', because: 'its testnets are Ethereum as well' },
  linea: { ours: 'Linea', viems: 'Linea Mainnet', because: 'its documentation calls the network Linea' },
  'zksync-era': { ours: 'zkSync Era', viems: 'ZKsync Era', because: 'the spelling of the methods, zks_ and zkSync' },
  'zksync-sepolia': {
    ...{ ours: 'zkSync Era Sepolia', viems: 'ZKsync Sepolia Testnet' },
    because: 'its documentation calls it Era Sepolia; spelled as its mainnet',
  },
};

/** Endpoints whose documentation is at another domain of the same provider. */
const documentedAt: Readonly<Record<string, string>> = { 'zksync.dev': 'zksync.io' };

describe('the included networks', () => {
  it('have a row each in `known`, except for the local one', () => {
    const slugs = reachable.map(({ slug }) => slug);
    const withoutRow = slugs.filter((slug) => !Object.hasOwn(known, slug));
    const rowStep =
      'add `<slug>: [chains.<viem’s name>, <chain id>, <currency>]` to `known` in shipped-networks.test.ts';
    expect(withoutRow, rowStep).toEqual([]);
    const withoutFile = Object.keys(known).filter((slug) => !slugs.includes(slug));
    expect(withoutFile, 'write networks/<slug>.yaml').toEqual([]);
    expect(shipped.map(({ slug }) => slug)).toContain('local');
  });

  it.each(Object.entries(known))('%s has the same chain id, name and currency as in viem', (slug, row) => {
    const [chain, chainId, symbol] = row;
    const network = shipped.find((one) => one.slug === slug);
    expect([network?.chainId, chain.id]).toEqual([chainId, chainId]);
    const { ours = chain.name, viems = chain.name } = otherNames[slug] ?? {};
    expect([network?.name, chain.name]).toEqual([ours, viems]);
    // Wallets show amounts correctly only with 18 decimals.
    expect(chain.nativeCurrency).toMatchObject({ symbol, decimals: 18 });
  });

  it('have different chain ids', () => {
    const ids = shipped.map(({ chainId }) => chainId);
    expect(ids).toEqual([...new Set(ids)]);
    // Anvil's default, which none of the public chains has.
    expect(shipped.find(({ slug }) => slug === 'local')?.chainId).toBe(chains.anvil.id);
  });

  it.each(reachable)('$slug has two providers, over https, without a key', ({ upstreams }) => {
    const urls = upstreams.map(({ url = '' }) => new URL(url));
    expect(urls.map(({ protocol }) => protocol)).toEqual(['https:', 'https:']);
    expect(new Set(urls.map(({ host }) => domainOf(host))).size).toBe(2);
    for (const { username, password, search, pathname } of urls) {
      expect([username, password, search]).toEqual(['', '', '']);
      expect(pathname).toMatch(/^(\/[A-Za-z]{1,4})*\/?$/);
    }
    for (const { headers } of upstreams) expect(headers).toEqual({});
  });

  it.each(reachable)('$slug names the documentation of each endpoint, by its operator', ({ slug, upstreams }) => {
    const cited = [...fileOf(slug).matchAll(/^ {2}- name: (\S+) # (https:\/\/[^\s,]+)(?:, .+)?\n {4}url: (\S+)$/gm)];
    const step = `write each upstream of networks/${slug}.yaml as: - name: <name> # <URL of its documentation>`;
    expect(
      cited.map(([, name, , url]) => ({ name, url })),
      step,
    ).toEqual(upstreams.map(({ name, url }) => ({ name, url })));
    for (const [, , source = '', url = ''] of cited) {
      const domain = domainOf(new URL(url).host);
      expect(domainOf(new URL(source).host)).toBe(documentedAt[domain] ?? domain);
    }
  });

  it('serve zks_estimateFee on zkSync only', () => {
    const serving = shipped.filter(({ methods }) => methods.includes('zks_estimateFee'));
    expect(serving.map(({ slug }) => slug)).toEqual(['zksync-era', 'zksync-sepolia']);
    const ofZkSync = knownMethods.filter((name) => !name.startsWith('linea_'));
    for (const { methods } of serving) expect(methods).toEqual(ofZkSync);
  });
});

/** The last two labels of the host. No host here is below a domain such as co.uk. */
function domainOf(host: string): string {
  return host.split('.').slice(-2).join('.');
}
