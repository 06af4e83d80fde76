import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { basename, join, relative } from 'node:path';
import { toHex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { packageRoot, version } from '../../gateway/config/package.ts';
import { runCurlLine } from './curl.ts';
import { processesWith, Workplace, type Gateway } from './gateway-process.ts';

const keyForm = /gh_[0-9A-Za-z]{32}/;
const counterIs42 = { jsonrpc: '2.0', id: 1, result: `0x${'2a'.padStart(64, '0')}` };

/** Name and slug of the included networks, in the order of slugs. */
const networks = readdirSync(join(packageRoot, 'networks'))
  .sort()
  .map((file) => {
    const [, name = ''] = /^name: (.+)$/m.exec(readFileSync(join(packageRoot, 'networks', file), 'utf8')) ?? [];
    return [name, basename(file, '.yaml')] as const;
  });
const nameWidth = Math.max(...networks.map(([name]) => name.length));

/** The mnemonic that anvil, Hardhat and ganache share, and its first ten accounts, derived by viem. */
const mnemonic = 'test test test test test test test test test test test junk';
const accounts = Array.from({ length: 10 }, (_, addressIndex) => {
  const account = mnemonicToAccount(mnemonic, { addressIndex });
  return { address: account.address, key: toHex(account.getHdKey().privateKey ?? '') };
});

describe('a first start, without settings and files', () => {
  let place: Workplace;
  let gateway: Gateway;
  let key: string;

  beforeAll(async () => {
    place = new Workplace();
    gateway = await place.start();
    key = keyForm.exec(gateway.banner)?.[0] ?? '';
  }, 120_000);
  afterAll(() => place.close());

  it('prints what runs where', () => {
    expect(gateway.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const base = (slug: string): string => `${gateway.address}/${slug}/v3/<key>`;
    const accountLines = [
      '',
      'Accounts of the local chain, with 10000 ETH each: address and private key, both public',
      ...accounts.map((account, index) => `  (${index}) ${account.address.toLowerCase()} ${account.key}`),
      `  Mnemonic: ${mnemonic}`,
    ];
    const command = `node ${relative(place.folder, join(packageRoot, 'bin/gatehouse.js'))}`;
    expect(gateway.banner.split('\n').slice(0, -2)).toEqual([
      `Gatehouse ${version} listens on ${gateway.address}`,
      `Status page: ${gateway.address}/`,
      'Keys page: off, needs OPS_PORT and ADMIN_TOKEN',
      '',
      `Networks of the package, with public endpoints, because there is no folder networks here (${command} init)`,
      ...networks.map(([name, slug]) => `  ${name.padEnd(nameWidth)}  ${base(slug)}`),
      ...accountLines,
      '',
      `Keys: in ${join(place.folder, '.gatehouse/gatehouse.db')}, as digests only`,
      `Development key, for this machine only: ${key}`,
      '',
      `Try it in another shell (more: ${command} demo):`,
      '',
    ]);
    expect(gateway.stderr()).toBe('');
  });

  it('prints a curl command that gets a result', async () => {
    const line = gateway.banner.trimEnd().split('\n').at(-1) ?? '';
    expect(line).toMatch(/^curl /);
    expect(await runCurlLine(line)).toEqual(counterIs42);
  });

  it('lets `gatehouse demo` print commands that all get the documented response', async () => {
    const { stdout, stderr, code } = await place.run(['demo']);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n').filter((line) => line.startsWith('curl '));
    const responses = await Promise.all(lines.map(runCurlLine));
    const revert = { code: 3, message: 'execution reverted: the gate is closed' };
    expect(responses).toMatchObject([
      counterIs42,
      counterIs42,
      { result: { transactions: [expect.any(String), expect.any(String), expect.any(String)] } },
      { result: null },
      { result: { status: '0x1', logs: [{}] } },
      { result: expect.stringMatching(/^0x[1-9a-f]/) as string },
      { error: revert },
      { result: { value: '0xde0b6b3a7640000' } },
      { result: '0x3' },
      { result: expect.stringMatching(/^0x[1-9a-f]/) as string },
      counterIs42,
    ]);
  });

  it('makes the key readable to its user only, and stores no key in the file', () => {
    const mode = (name: string): number => statSync(join(place.folder, '.gatehouse', name)).mode & 0o777;
    expect([mode('.'), mode('gatehouse.db'), mode('development-key'), mode('demo.json')]).toEqual([
      0o700, 0o600, 0o600, 0o600,
    ]);
    expect(readFileSync(join(place.folder, '.gatehouse/gatehouse.db'), 'utf8')).not.toMatch(keyForm);
  });

  it('is ready', async () => {
    const ready = await fetch(`${gateway.address}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true, keyStore: { kind: 'file' } }]);
  });

  it('shows the same key at the next start', async () => {
    expect(await gateway.stop()).toMatchObject({ code: 0, stderr: expect.stringContaining('draining') as string });
    expect(existsSync(join(place.folder, '.gatehouse/demo.json'))).toBe(false);
    expect((await place.run(['demo'])).stderr).toMatch(/^no gateway with a local chain is running here: .*\n$/);
    gateway = await place.start();
    expect(keyForm.exec(gateway.banner)?.[0]).toBe(key);
    expect(await runCurlLine(gateway.banner.trimEnd().split('\n').at(-1) ?? '')).toEqual(counterIs42);
  });
});

const base = { name: 'Base', chainId: 8453, upstreams: [{ name: 'away', url: 'http://127.0.0.1:1' }] };
const localChainId = 7_310_002;
const mine = { name: 'Mine', chainId: localChainId, upstreams: [{ name: 'anvil', spawn: 'anvil' }] };

describe('a start', () => {
  let place: Workplace;

  beforeEach(() => {
    place = new Workplace();
  });
  afterEach(async () => {
    await place.close();
    expect(processesWith(`--chain-id ${localChainId}`)).toEqual([]);
  });

  function expectNoKey(stdout: string, stderr: string, keyPlace: string): void {
    expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
      `Keys: ${keyPlace}, as digests only`,
      `Create a key: node ${relative(place.folder, join(packageRoot, 'bin/gatehouse.js'))} keys create --name alice`,
    ]);
    expect(stdout + stderr).not.toMatch(keyForm);
    expect(stdout).not.toContain(mnemonic);
    expect(existsSync(join(place.folder, '.gatehouse/development-key'))).toBe(false);
  }

  it('that others can reach shows no key and makes none', async () => {
    place.withNetworks({ base });
    const gateway = await place.start({ HOST: '0.0.0.0' });
    const { stdout, stderr } = await gateway.stop();
    expectNoKey(stdout, stderr, `in ${join(place.folder, '.gatehouse/gatehouse.db')}`);
  });

  it('with Redis serves calls even if DATA_DIR is not writable, and shows neither a key nor the password', async () => {
    place.withNetworks({ mine });
    writeFileSync(join(place.folder, 'file'), '');
    const gateway = await place.start({ REDIS_URL: 'redis://me:s3cret@127.0.0.1:1', DATA_DIR: 'file/data' });
    expect(gateway.banner).toContain('\nKeys: in Redis (REDIS_URL), as digests only\n');
    expect(gateway.stderr()).toContain('DATA_DIR cannot be written: the command demo will not work');
    const { code, stdout, stderr } = await gateway.stop();
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(keyForm);
    expect(stdout + stderr).not.toContain('s3cret');
  });

  it('in production makes no key, leaves the local chain out, and serves the ops port on OPS_HOST', async () => {
    const shipped = (slug: string): string => readFileSync(join(packageRoot, `networks/${slug}.yaml`), 'utf8');
    place.withNetworks({ local: shipped('local'), sepolia: shipped('sepolia') });
    const env = { NODE_ENV: 'production', OPS_PORT: '0', OPS_HOST: '127.0.0.2', ADMIN_TOKEN: 'the-token-of-this-test' };
    const gateway = await place.start({ ...env, DRAIN_DELAY_MS: '0' });
    expect(gateway.banner.split('\n').filter((line) => /local\b/i.test(line))).toEqual([
      '  local is left out: its upstream is a development chain, which does not start in production',
    ]);
    expect(gateway.banner).toContain(`${gateway.address}/sepolia/v3/<key>`);
    expect((await fetch(`${gateway.address}/local/v3/x`, { method: 'POST' })).status).toBe(404);
    const [, port = ''] = /^Metrics and health: port (\d+)$/m.exec(gateway.banner) ?? [];
    expect(gateway.banner).toContain(`\nKeys page: http://127.0.0.2:${port}/keys\n`);
    expect((await fetch(`http://127.0.0.2:${port}/livez`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow('fetch failed');
    expect((await fetch(`${gateway.address}/livez`)).status).toBe(404);
    const { stdout, stderr } = await gateway.stop();
    expectNoKey(stdout, stderr, `in ${join(place.folder, '.gatehouse/gatehouse.db')}`);
  });

  it('without a local chain prints a curl command that needs no upstream, for its own networks only', async () => {
    place.withNetworks({ base });
    const gateway = await place.start();
    expect(gateway.banner).toContain(`\nNetworks\n  Base  ${gateway.address}/base/v3/<key>\n\nKeys`);
    expect(gateway.banner).toContain('\nTry it in another shell:\n\ncurl ');
    expect(await runCurlLine(gateway.banner.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ result: '0x2105' });
  });

  it('on a port in use ends with one line, and stops its local chain', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    place.withNetworks({ base, mine });
    expect(await place.spawn(['start'], { PORT: String(port) }).ended).toEqual({
      ...{ code: 1, signal: null, stdout: '' },
      stderr: `port ${port} is in use: stop the other process, or set another PORT\n`,
    });
  });

  it('of several workers with an invalid REDIS_URL ends with one line', async () => {
    place.withNetworks({ base });
    const { code, stdout, stderr } = await place.spawn(['start'], { PORT: '0', REDIS_URL: 'nonsense', WORKERS: '2' })
      .ended;
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(/^REDIS_URL: expected redis:.*\n$/);
  });

  it('that fails halfway ends with an exit code other than 0, and stops its local chain', async () => {
    place.withNetworks({ mine });
    mkdirSync(join(place.folder, '.gatehouse/development-key'), { recursive: true });
    const { code, stdout, stderr } = await place.spawn(['start'], { PORT: '0' }).ended;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^E[A-Z]+: .*development-key.*\n$/);
  });
});
