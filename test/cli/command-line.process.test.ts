import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { eventually } from '../support/eventually.ts';
import { Workplace } from '../e2e/gateway-process.ts';
import { tracked } from '../support/child-processes.ts';

let place: Workplace;

beforeEach(() => {
  place = new Workplace().withNetworks({
    base: { name: 'Base', chainId: 8453, upstreams: [{ name: 'away', url: 'http://127.0.0.1:1' }] },
  });
});
afterEach(() => place.close());

describe('the process of the command line', () => {
  it.each([
    ['--help', 'true'],
    ['check', 'head -1'],
  ])('`gatehouse %s | %s` ends quietly', async (args, reader) => {
    const command = `${process.execPath} ${join(packageRoot, 'bin/gatehouse.js')} ${args} | ${reader}`;
    const child = tracked(spawn('sh', ['-c', command], { cwd: place.folder, env: { PATH: process.env['PATH'] } }));
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await once(child, 'close');
    expect(stderr).toBe('');
  });
});

it('SIGTERM to npm start stops the gateway, which warned about a name that resembles a setting', async () => {
  const npm = tracked(
    spawn('npm', ['start', '--prefix', packageRoot], {
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        REDIS_URI: 'redis://127.0.0.1',
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
  expect(stderr).toContain('"msg":"REDIS_URI is not a setting; did you mean REDIS_URL?"');
  expect(stderr).toContain('"msg":"draining"');
  await expect(fetch(`${address}/livez`)).rejects.toThrow('fetch failed');
}, 90_000);
