import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { eventually } from '../support/eventually.ts';
import { Workplace } from '../e2e/gateway-process.ts';
import { tracked } from '../support/child-processes.ts';

const commands = ['start', 'demo', 'check', 'doctor', 'init', 'networks add', 'keys create', 'keys usage'];

let place: Workplace;

beforeEach(() => {
  place = new Workplace().withNetworks({
    base: { name: 'Base', chainId: 8453, upstreams: [{ name: 'away', url: 'http://127.0.0.1:1' }] },
  });
});
afterEach(() => place.close());

describe('the command line', () => {
  it('without a command prints the help', async () => {
    const { code, stdout, stderr } = await place.run([]);
    expect([code, stderr]).toEqual([0, '']);
    for (const command of commands) expect(stdout).toContain(`  ${command.split(' ')[0]}`);
  });

  it.each(commands)('%s has help with an example', async (command) => {
    const { code, stdout } = await place.run([...command.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`\nExamples:\n  gatehouse ${command}`));
  });

  it.each([
    ['--help', 'true'],
    ['check --json', 'true'],
    ['check', 'head -1'],
  ])('`gatehouse %s | %s` ends quietly', async (args, reader) => {
    const command = `${process.execPath} ${join(packageRoot, 'bin/gatehouse.js')} ${args} | ${reader}`;
    const child = tracked(spawn('sh', ['-c', command], { cwd: place.folder, env: { PATH: process.env['PATH'] } }));
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await once(child, 'close');
    expect(stderr).toBe('');
  });

  it('warns at start about names that resemble a setting', async () => {
    const gateway = await place.start({ REDIS_URI: 'redis://127.0.0.1' });
    expect(gateway.stderr()).toContain('"msg":"REDIS_URI is not a setting; did you mean REDIS_URL?"');
  });
});

it('SIGTERM to npm start stops the gateway', async () => {
  const npm = tracked(
    spawn('npm', ['start', '--prefix', packageRoot], {
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        NETWORKS_DIR: join(place.folder, 'networks'),
        DATA_DIR: place.folder,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  let stdout = '';
  let stderr = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  npm.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // The streams close when the last process that writes to them has ended.
  const closed = once(npm, 'close');
  await eventually(() => stdout.includes('\nKeys: '), 60_000);
  const [, address = ''] = /listens on (\S+)$/m.exec(stdout) ?? [];
  npm.kill('SIGTERM');
  await closed;
  expect(stderr).toContain('"msg":"draining"');
  await expect(fetch(`${address}/livez`)).rejects.toThrow('fetch failed');
}, 90_000);
