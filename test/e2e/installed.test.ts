import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot, version } from '../../gateway/config/package.ts';
import { productionPackages } from '../support/production-packages.ts';
import { runCurlLine } from './curl.ts';
import { Workplace } from './gateway-process.ts';

let installation: string;
let place: Workplace;

// What `npm ci --omit=dev` leaves after a build: no anvil, no compiler.
beforeAll(async () => {
  installation = mkdtempSync(join(tmpdir(), 'gatehouse-installed-'));
  const builder = new Workplace();
  expect((await builder.run(['--version'])).code).toBe(0);
  await builder.close();
  for (const name of ['package.json', 'bin', 'dist', 'networks', 'schemas']) {
    cpSync(join(packageRoot, name), join(installation, name), { recursive: true });
  }
  for (const path of productionPackages()) {
    mkdirSync(dirname(join(installation, path)), { recursive: true });
    symlinkSync(join(packageRoot, path), join(installation, path));
  }
}, 60_000);
afterAll(() => {
  rmSync(installation, { recursive: true, force: true });
});
beforeEach(() => {
  place = new Workplace(join(installation, 'bin/gatehouse.js'));
});
afterEach(() => place.close());

describe('an installation without development packages', () => {
  it('starts, leaves the local chain out, and says so in one line', async () => {
    const gateway = await place.start();
    const lines = gateway.banner.split('\n').filter((line) => /local|anvil/i.test(line));
    expect(lines).toEqual(['  local is left out: anvil is not installed (npm ci without --omit=dev brings it)']);
    expect(gateway.stderr()).toBe('');
  });

  it('serves the rest: the curl line that it prints answers as printed', async () => {
    const gateway = await place.start();
    expect(gateway.banner).toContain(`\n  Ethereum Mainnet    ${gateway.address}/ethereum-mainnet/v3/<key>\n`);
    const line = gateway.banner.trimEnd().split('\n').at(-1) ?? '';
    expect(await runCurlLine(line)).toEqual({ jsonrpc: '2.0', id: 1, result: '0xa4b1' });
    expect((await place.run(['demo'])).stderr).toMatch(/^no gateway with a local chain is running here/);
  });

  it('serves a network that has another upstream beside its local one', async () => {
    const upstreams = [
      { name: 'anvil', spawn: 'anvil' },
      { name: 'a', url: 'http://127.0.0.1:1' },
    ];
    place.withNetworks({ mixed: { name: 'Mixed', chainId: 5, upstreams } });
    const gateway = await place.start();
    expect(gateway.banner).toContain(`\nNetworks\n  Mixed  ${gateway.address}/mixed/v3/<key>\n\n`);
  });

  it('has a command line', async () => {
    expect(await place.run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect((await place.run(['keys', 'create', '--name', 'alice'])).stdout).toMatch(/^gh_\w{32}$/m);
  });

  it('runs what is built even where sources look newer', async () => {
    mkdirSync(join(installation, 'gateway'), { recursive: true });
    cpSync(join(packageRoot, 'gateway/app.ts'), join(installation, 'gateway/app.ts'));
    expect(await place.run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it('says what to do where nothing was built', async () => {
    rmSync(join(installation, 'dist'), { recursive: true });
    expect(await place.run(['--version'])).toMatchObject({
      code: 78,
      stdout: '',
      stderr: 'dist/ is missing and TypeScript is not installed: run `npm ci && npm run build` once, then prune.\n',
    });
  });
});
