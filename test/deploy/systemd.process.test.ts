import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { drainDelayOf, readSettings, settingRows } from '../../gateway/config/settings.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/redis.ts';
import { tracked } from '../support/child-processes.ts';

const lines = readFileSync(join(packageRoot, 'deploy/systemd/gatehouse.service'), 'utf8').split('\n');
const valuesOf = (name: string): string[] =>
  lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
const environment = environmentIn(readFileSync(join(packageRoot, 'deploy/systemd/gatehouse.env'), 'utf8'));

describe('the systemd unit', () => {
  it('sets existing settings to valid values, for production', () => {
    const known = settingRows.map(({ name }) => name);
    expect([valuesOf('Environment'), valuesOf('EnvironmentFile')]).toEqual([[], ['/etc/gatehouse/gatehouse.env']]);
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    expect(readSettings(environment)).toMatchObject({ NODE_ENV: 'production', OPS_PORT: 9464 });
  });

  it('gives the gateway more time to stop than it can take, and does not restart an invalid configuration', () => {
    const settings = readSettings(environment);
    const longestMs = drainDelayOf(settings) + 2 * settings.DRAIN_TIMEOUT_MS;
    expect(Number(valuesOf('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(longestMs);
    expect(valuesOf('RestartPreventExitStatus')).toEqual(['78']);
  });

  it('runs the command of the package, and is in the package', () => {
    const { bin, files } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
      files: string[];
    };
    expect(valuesOf('ExecStart')).toEqual(['/usr/bin/env gatehouse start']);
    expect(existsSync(join(packageRoot, bin['gatehouse'] ?? ''))).toBe(true);
    expect(files).toContain('deploy');
  });
});

/** Without systemd: its folders are below a temporary one, `systemctl` does nothing, and setpriv is the user of the unit. */
describe('the commands of docs/install.md', () => {
  const SERVICE_USER = 65_534;
  /** A start takes 20 s and more on a loaded machine. */
  const START_MS = 60_000;

  it(
    'install a service that serves the key of the command that root runs, also after a restart',
    async () => {
      const root = mkdtempSync(join(tmpdir(), 'gatehouse-systemd-'));
      chmodSync(root, 0o755);
      onTestFinished(() => {
        rmSync(root, { recursive: true });
      });
      for (const folder of ['bin', 'etc/systemd/system', 'lib', 'state'])
        mkdirSync(join(root, folder), { recursive: true });
      // As StateDirectory does.
      chmodSync(join(root, 'state'), 0o700);
      chownSync(join(root, 'state'), SERVICE_USER, SERVICE_USER);
      symlinkSync(packageRoot, join(root, 'lib/gatehouse-rpc'));
      const program = (name: string, text: string): void => {
        writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      };
      program('npm', `if [ "$1" = root ]; then echo ${join(root, 'lib')}; fi`);
      program('gatehouse', `exec ${process.execPath} ${join(packageRoot, 'bin/gatehouse.js')} "$@"`);
      program('systemctl', 'exit 0');
      const env = { PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}` };
      const asRoot = (command: string): string =>
        execFileSync('sh', ['-euc', command], { cwd: root, env, encoding: 'utf8' });

      const page = readFileSync(join(packageRoot, 'docs/install.md'), 'utf8');
      const [, block = ''] = /^## systemd\n\n```sh\n(.*?)```/ms.exec(page) ?? [];
      const commands = block.trimEnd().replaceAll('/etc/', `${root}/etc/`).split('\n');
      const createKey = commands.pop() ?? '';
      asRoot(commands.join('\n'));
      const envFile = join(root, 'etc/gatehouse/gatehouse.env');
      expect(statSync(envFile).mode & 0o777).toBe(0o600);
      const port = await freePort();
      const settings = readFileSync(envFile, 'utf8')
        .replace('/var/lib/gatehouse', join(root, 'state'))
        .replace('/etc/', `${root}/etc/`)
        .replace('9464', String(await freePort()));
      writeFileSync(envFile, `${settings}PORT=${port}\n`);

      const serve = async (work: () => Promise<void>): Promise<void> => {
        const user = [`--reuid=${SERVICE_USER}`, `--regid=${SERVICE_USER}`, '--clear-groups', '--no-new-privs'];
        const command = (valuesOf('ExecStart')[0] ?? '').split(' ');
        const service = tracked(
          spawn('setpriv', [...user, ...command], {
            cwd: '/',
            env: { ...env, ...environmentIn(readFileSync(envFile, 'utf8')) },
            stdio: ['ignore', 'pipe', 'pipe'],
          }),
        );
        const ended = once(service, 'exit');
        let text = '';
        for (const stream of [service.stdout, service.stderr]) {
          stream.setEncoding('utf8').on('data', (part: string) => (text += part));
        }
        await eventually(() => service.exitCode !== null || text.includes('\nKeys: '), START_MS);
        expect([service.exitCode, text]).toEqual([null, expect.stringContaining('Keys: ')]);
        await work();
        service.kill('SIGINT');
        await ended;
      };
      const statusWith = async (key: string): Promise<number> => {
        const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
        return (await fetch(`http://127.0.0.1:${port}/ethereum-mainnet/v3/${key}`, { method: 'POST', body })).status;
      };
      let key = '';
      await serve(async () => {
        const created = asRoot(createKey);
        const file = join(root, 'state/gatehouse.db');
        expect(created).toContain(` for alice in ${file}, shown only once:\n`);
        [key = ''] = /^gh_\w{32}$/m.exec(created) ?? [];
        expect(statSync(file)).toMatchObject({ uid: SERVICE_USER, gid: SERVICE_USER });
        expect(statSync(file).mode & 0o777).toBe(0o600);
        await eventually(async () => (await statusWith(key)) === 200);
      });
      await serve(async () => {
        expect(await statusWith(key)).toBe(200);
      });
    },
    4 * START_MS,
  );
});

function environmentIn(text: string): Record<string, string> {
  const settings = text.split('\n').filter((line) => /^[A-Z]/.test(line));
  return Object.fromEntries(settings.map((line) => line.split('=') as [string, string]));
}
