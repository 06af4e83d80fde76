import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { packageRoot, version } from '../../gateway/config/package.ts';
import { startAnvil } from '../support/anvil.ts';
import { runCurlLine } from './curl.ts';
import { Workplace } from './gateway-process.ts';

let folder: string;
let installation: string;
let place: Workplace;

// As with `npx ./gatehouse-rpc-*.tgz`: the package as published, with its dependencies, without anvil and compiler.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-installed-'));
  npm(packageRoot, 'pack', '--ignore-scripts', '--pack-destination', folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', `./gatehouse-rpc-${version}.tgz`);
  installation = join(folder, 'node_modules/gatehouse-rpc');
}, 300_000);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  place = new Workplace(join(installation, 'bin/gatehouse.js'));
});
afterEach(() => place.close());

describe('an installation without development packages', () => {
  it('starts in an empty folder without the local chain, and serves the other networks', async () => {
    const gateway = await place.start();
    const lines = gateway.banner.split('\n').filter((line) => /local|anvil/i.test(line));
    expect(lines).toEqual(['  local is left out: anvil is not installed (npm ci without --omit=dev installs it)']);
    expect(gateway.stderr()).toBe('');
    expect(gateway.banner).toContain(`\n  Ethereum Mainnet    ${gateway.address}/ethereum-mainnet/v3/<key>\n`);
    const line = gateway.banner.trimEnd().split('\n').at(-1) ?? '';
    expect(await runCurlLine(line)).toEqual({ jsonrpc: '2.0', id: 1, result: '0xa4b1' });
  });

  it('creates a key', async () => {
    expect((await place.spawn(['keys', 'create', '--name', 'alice']).ended).stdout).toMatch(/^gh_\w{32}$/m);
  });

  it('serves a call of a real node from an empty folder: init, a network file, start, ethers', async () => {
    const anvil = await startAnvil();
    onTestFinished(() => anvil.stop());
    expect((await place.spawn(['init']).ended).code).toBe(0);
    const files = readdirSync(join(place.folder, 'networks'));
    expect(files).toContain('base.yaml');
    expect(files).not.toContain('local.yaml');
    const mixed = [
      { name: 'anvil', spawn: 'anvil' },
      { name: 'a', url: 'http://127.0.0.1:1' },
    ];
    place.withNetworks({
      own: { name: 'Own', chainId: 1337, upstreams: [{ name: 'node', url: anvil.url }] },
      mixed: { name: 'Mixed', chainId: 5, upstreams: mixed },
    });
    const gateway = await place.start();
    expect(gateway.banner).toMatch(/^ {2}Base +http/m);
    // It has a further upstream beside its local one.
    expect(gateway.banner).toMatch(/^ {2}Mixed +http/m);
    expect(gateway.banner).not.toContain('left out');
    const [key = ''] = /gh_[0-9A-Za-z]{32}/.exec(gateway.banner) ?? [];
    const provider = new JsonRpcProvider(`${gateway.address}/own/v3/${key}`, 1337, { staticNetwork: true });
    expect(await provider.getBlockNumber()).toBe(3);
    provider.destroy();
  });

  it('is ready to publish under a name of its own', () => {
    const manifest = JSON.parse(readFileSync(join(installation, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: 'gatehouse-rpc', bin: { gatehouse: 'bin/gatehouse.js' } });
    expect(manifest).not.toHaveProperty('private');
  });

  it('has no sources and no tests', () => {
    const files = readdirSync(installation, { recursive: true, encoding: 'utf8' });
    expect(files.filter((name) => /\.ts$|\.map$|(^|\/)test(\/|$)|\.test\.|node_modules/.test(name))).toEqual([]);
  });

  it('runs the compiled code even if sources look newer', async () => {
    mkdirSync(join(installation, 'gateway'), { recursive: true });
    cpSync(join(packageRoot, 'gateway/server/app.ts'), join(installation, 'gateway/server/app.ts'));
    expect(await place.spawn(['--version']).ended).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it('names the command to run if nothing was compiled', async () => {
    rmSync(join(installation, 'dist'), { recursive: true });
    expect(await place.spawn(['--version']).ended).toMatchObject({
      code: 78,
      stdout: '',
      stderr: 'dist/ is missing and the bundler is not installed: run `npm ci && npm run build` once, then prune.\n',
    });
  });
});

function npm(cwd: string, ...args: string[]): void {
  execFileSync('npm', args, { cwd, stdio: 'pipe' });
}
