import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { commandName } from '../../gateway/cli/command-name.ts';
import { addNetwork, networkFileOf } from '../../gateway/cli/network-files.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { knownChain, type KnownChain } from '../../gateway/network-files/known-chain.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { loadFiles } from '../network-files/load.ts';

let place: CommandFolder;

beforeEach(() => {
  place = new CommandFolder();
});
afterEach(() => place.close());

const file = (slug: string): string => join(place.folder, 'networks', `${slug}.yaml`);

describe('gatehouse init', () => {
  it('creates a folder with the networks that Gatehouse ships', async () => {
    const { code, stdout } = await place.run(['init']);
    const shipped = readdirSync(join(packageRoot, 'networks'));
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Wrote ${shipped.length} networks to networks. `)]);
    expect(readdirSync(join(place.folder, 'networks'))).toEqual(shipped);
    expect((await place.run(['check'])).code).toBe(0);
    expect(readFileSync(file('base'), 'utf8')).toMatch(/^name: Base\nchainId: 8453\n/);
  });

  it('does not change a folder that is not empty', async () => {
    mkdirSync(join(place.folder, 'networks'));
    writeFileSync(file('mine'), 'mine');
    expect(await place.run(['init'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already exists') as string,
    });
    expect(readdirSync(join(place.folder, 'networks'))).toEqual(['mine.yaml']);
  });
});

describe('gatehouse networks add', () => {
  const folder = (): string => join(place.folder, 'networks');
  const add = (chainId: string, slug?: string): string => addNetwork(folder(), {}, chainId, slug).text;
  beforeEach(() => {
    mkdirSync(folder());
  });

  it('writes a network from the list of known chains', async () => {
    const { code, stdout } = await place.run(['networks', 'add', '10200']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Wrote networks\/gnosis-chiado\.yaml\. .* put your own/),
    ]);
    const [network] = loadFiles({ 'gnosis-chiado.yaml': readFileSync(file('gnosis-chiado'), 'utf8') });
    expect(network).toMatchObject({ name: 'Gnosis Chiado', chainId: 10_200, upstreams: [{ name: 'public' }] });
  });

  it('writes any network with --url, after its nodes have the chain id', async () => {
    const node = await startFakeNode({ chainId: 424_242 });
    onTestFinished(() => node.close());
    const own = ['--url', `${node.url},${node.url}/two`, '--name', 'Our chain: "one"', '--currency', 'OUR'];
    const explorer = 'https://explorer.example.org';
    const { code, stderr } = await place.run(['networks', 'add', '424242', ...own, '--explorer', explorer]);
    expect([code, stderr]).toEqual([0, '']);
    const text = readFileSync(file('our-chain-one'), 'utf8');
    expect(loadFiles({ 'our-chain-one.yaml': text })[0]).toMatchObject({
      ...{ name: 'Our chain: "one"', chainId: 424_242, currency: 'OUR', explorer },
      upstreams: [
        { name: 'node-1', url: node.url },
        { name: 'node-2', url: `${node.url}/two` },
      ],
    });
    const rejected = async (...args: string[]): Promise<string> =>
      (await place.run(['networks', 'add', ...args])).stderr;
    expect(await rejected('424243', '--url', node.url, '--name', 'x')).toContain(
      '--url: node 1 has the chain id 424242, not 424243',
    );
    const silent = await rejected('424242', '--url', 'http://127.0.0.1:1/secret', '--name', 'x');
    expect(silent).toContain('--url: node 1 does not respond to eth_chainId');
    expect(silent).not.toContain('secret');
    expect(await rejected('424242', '--url', node.url)).toContain('set --name to its name');
    expect(await rejected('424242', ...own, '--currency', 'not a symbol')).toContain(
      '--currency: expected symbol of 1',
    );
    expect(await rejected('8453', '--name', 'Base')).toContain('--name, --currency and --explorer belong to --url');
  });

  it('writes the shipped file if there is one', () => {
    add('324');
    const shipped = readFileSync(join(packageRoot, 'networks/zksync-era.yaml'), 'utf8');
    expect(readFileSync(file('zksync-era'), 'utf8')).toBe(shipped.slice(shipped.indexOf('\n') + 1));
  });

  it('never overwrites a file, and requires a slug for a chain that a file already has', () => {
    add('100');
    writeFileSync(file('gnosis'), readFileSync(file('gnosis'), 'utf8').replace('Gnosis', 'Mine'));
    expect(() => add('100')).toThrow('gnosis.yaml already has chain 100; to add a second one, set --slug');
    expect(() => add('100', 'gnosis')).toThrow('gnosis.yaml already exists and is not changed');
    expect(readFileSync(file('gnosis'), 'utf8')).toContain('Mine');
    add('100', 'second');
    expect(existsSync(file('second'))).toBe(true);
  });

  it.each([
    ['base', undefined, 'expected a chain id, a whole number: 8453 for Base'],
    ['0x1', undefined, 'expected a chain id'],
    ['9999999999', undefined, 'chain 9999999999 is not in the list'],
    ['100', '../x', '../x cannot be a slug'],
    ['100', 'metrics', 'metrics cannot be a slug'],
    ['100', 'auth', 'auth cannot be a slug'],
  ])('%s --slug %s is rejected', (chainId, slug, message) => {
    expect(() => add(chainId, slug)).toThrow(message);
    expect(readdirSync(folder())).toEqual([]);
  });

  it('gives advice in one line if there is no folder', async () => {
    rmSync(folder(), { recursive: true });
    const { code, stderr } = await place.run(['networks', 'add', '100']);
    expect([code, stderr]).toEqual([1, `there is no folder networks: ${commandName} init creates it\n`]);
  });
});

describe('known chains', () => {
  const chains = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/chains.json'), 'utf8')) as Record<
    string,
    KnownChain
  >;

  it('are more than 500, each found by its id', () => {
    expect(Object.keys(chains).length).toBeGreaterThan(500);
    for (const id of ['1', '324', Object.keys(chains).at(-1) ?? '']) expect(knownChain(Number(id))).toEqual(chains[id]);
    expect(knownChain(4_294_967_291)).toBeUndefined();
  });

  it('produce valid network files', () => {
    // All files in one folder, as `gatehouse check` reads it.
    const files = Object.entries(chains).map(([id, chain]) => [`c${id}.yaml`, networkFileOf(chain, Number(id))]);
    expect(loadFiles(Object.fromEntries(files) as Record<string, string>)).toHaveLength(files.length);
  });
});
