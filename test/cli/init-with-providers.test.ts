import dns from 'node:dns';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { checkNetworks } from '../../gateway/cli/check.ts';
import { initWithProviders } from '../../gateway/cli/init-with-providers.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { loadFiles } from '../network-files/load.ts';

let place: CommandFolder;

beforeEach(() => {
  place = new CommandFolder();
});
afterEach(() => place.close());

const folder = (): string => join(place.folder, 'networks');
const secrets = (): string => join(place.folder, 'gateway.env');
const init = (chains?: string, providers?: string): string => initWithProviders(folder(), chains, providers).text;
const read = (slug: string): string => readFileSync(join(folder(), `${slug}.yaml`), 'utf8');

/** The variables of the secrets file, each with this value, as an operator fills them in. */
function filledIn(value: string): Record<string, string> {
  const text = readFileSync(secrets(), 'utf8');
  return Object.fromEntries([...text.matchAll(/^(\w+)=$/gm)].map(([, name = '']) => [name, value]));
}

/** Until the end of the test, this process finds no host except this machine. @returns the names that it looked up */
function withoutHosts(): readonly string[] {
  const { lookup } = dns;
  const names: string[] = [];
  const local = (host: string, ...rest: unknown[]): void => {
    if (host === 'localhost' || isIP(host) !== 0) {
      (lookup as (host: string, ...rest: unknown[]) => void)(host, ...rest);
      return;
    }
    names.push(host);
    (rest.at(-1) as (error: Error) => void)(Object.assign(new Error('no such host'), { code: 'ENOTFOUND' }));
  };
  dns.lookup = local as unknown as typeof lookup;
  onTestFinished(() => void (dns.lookup = lookup));
  return names;
}

const twelve = [1, 10, 56, 137, 324, 5000, 8453, 42161, 42220, 43114, 59144, 534352];

describe('gatehouse init with chains and providers', () => {
  it('makes twelve networks with three upstreams each, from one command and one file of secrets', async () => {
    const args = ['init', '--chains', twelve.join(), '--provider', 'alchemy,drpc,infura'];
    const { code, stdout } = await place.run(args);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Wrote 12 networks to networks\.\nWrite the values of 3 /),
    ]);
    expect(statSync(secrets()).mode & 0o777).toBe(0o600);
    const key = '0123456789abcdef0123456789abcdef';
    const env = filledIn(key);
    expect(Object.keys(env)).toEqual(['ALCHEMY_KEY', 'DRPC_KEY', 'INFURA_KEY']);
    // The keys are nowhere but in that file: without it, each upstream lacks its key.
    expect(
      checkNetworks({ NETWORKS_DIR: folder() }, {}, false).text.match(/the environment has no \w+_KEY/g),
    ).toHaveLength(36);
    const { networks } = JSON.parse(checkNetworks({ NETWORKS_DIR: folder() }, env, true).text) as {
      networks: { chainId: number; upstreams: number }[];
    };
    expect(networks.map(({ chainId, upstreams }) => [chainId, upstreams]).toSorted()).toEqual(
      twelve.map((chainId) => [chainId, 3]).toSorted(),
    );

    const hosts = withoutHosts();
    const gateway = await place.serve({ ...env, LOG_LEVEL: 'debug', CALL_TIMEOUT_MS: '5000' });
    const page = await fetch(gateway.address, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    const status = await fetch(gateway.address, { headers: { accept: 'application/json' } });
    const text = await status.text();
    expect(text).toContain('Ethereum Mainnet');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' });
    const response = await gateway.post('base', body);
    expect([response.status, await response.text()]).toEqual([503, expect.not.stringContaining(key)]);
    expect(hosts).toContain('base-mainnet.g.alchemy.com');
    await gateway.stop();
    for (const shown of [text, gateway.log()]) expect(shown).not.toContain(key);
  }, 120_000);

  it('writes what the network needs besides its upstreams', () => {
    init('324,59144,100', 'drpc');
    expect(read('zksync-era')).toContain('\nmethods: [eth, net, web3, rpc, zks]\n');
    expect(read('linea')).toContain('\nmethods: [eth, net, web3, rpc, linea]\n');
    expect(loadFiles({ 'gnosis.yaml': read('gnosis') }, filledIn('0123456789abcdef'))).toMatchObject([
      { name: 'Gnosis', chainId: 100, upstreams: [{ name: 'drpc' }] },
    ]);
  });

  it('names every option of the providers, and a key for each chain where a provider has one', () => {
    init('1,56', 'quicknode,chainstack,publicnode');
    expect(Object.keys(filledIn(''))).toEqual([
      ...['CHAINSTACK_KEY_1', 'CHAINSTACK_KEY_56', 'QUICKNODE_ENDPOINT', 'QUICKNODE_KEY'],
    ]);
    expect(
      loadFiles({ 'bnb.yaml': read('bnb-smart-chain') }, filledIn('0123456789abcdef'))[0]?.upstreams,
    ).toMatchObject([
      { url: 'https://0123456789abcdef.bsc.quiknode.pro/0123456789abcdef' },
      { url: 'https://bsc-mainnet.core.chainstack.com/0123456789abcdef' },
      { url: 'https://bsc-rpc.publicnode.com' },
    ]);
  });

  it('leaves out providers that do not serve a chain, and reports it', () => {
    expect(init('1,250', 'infura,drpc')).toContain('infura does not serve chain 250: it is left out of fantom.yaml.\n');
    expect(read('fantom')).toMatch(/\nupstreams:\n {2}- \{ provider: drpc, key: '\$\{DRPC_KEY\}' \}\n$/);
  });

  it.each([
    ['1,x', 'drpc', '--chains: expected chain ids, whole numbers with commas between them: 1,10,8453'],
    ['1', 'dprc', '--provider: dprc is not known; did you mean drpc?; known are alchemy, ankr, '],
    ['1', undefined, '--chains and --provider belong together'],
    [undefined, 'drpc', '--chains and --provider belong together'],
    ['1,250', 'infura', 'infura: none serves chain 250; these do: blockpi, drpc, onfinality, publicnode'],
    ['1,9999999999', 'drpc', 'chain 9999999999 is not in the list of known chains'],
  ])('--chains %s --provider %s is rejected, and nothing is written', (chains, providers, message) => {
    expect(() => init(chains, providers)).toThrow(message);
    expect(existsSync(folder()) || existsSync(secrets())).toBe(false);
  });

  it('never overwrites files', () => {
    writeFileSync(secrets(), 'OURS=1\n');
    expect(() => init('1', 'drpc')).toThrow('gateway.env already exists and is not changed');
    expect([existsSync(folder()), readFileSync(secrets(), 'utf8')]).toEqual([false, 'OURS=1\n']);
    rmSync(secrets());
    init('1', 'drpc');
    rmSync(secrets());
    expect(() => init('10', 'drpc')).toThrow(/networks already exists: to add a network, .* networks add <chainId>/);
    expect(readdirSync(folder())).toEqual(['ethereum-mainnet.yaml']);
  });
});
