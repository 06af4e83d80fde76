import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { untilStarted } from '../e2e/gateway-process.ts';
import { productionPackages } from '../support/production-packages.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';
import { commandOf, copiesOf, environmentOf, readStages } from './dockerfile.ts';
import { tracked } from '../support/child-processes.ts';

/**
 * The image without Docker: the files of the last stage, read-only, run by a user other than root with the image's
 * environment and commands. Differences: other ports, and a DATA_DIR that does not exist.
 */
const image = readStages().at(-1) ?? [];
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: 1000, gid: 1000 } : {};
/** A start takes 10 s and more on a loaded machine. */
const START_MS = 60_000;
const processes = new Set<ChildProcess>();
let root: string;
let redis: RedisServer;
let env: Record<string, string>;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'gatehouse-image-'));
  for (const { from, sources, target } of copiesOf(image)) {
    for (const source of sources) {
      if (from === 'packages')
        productionPackages().forEach((path) => {
          copy(path, path);
        });
      else copy(source.replace('/build/', ''), target.endsWith('/') ? join(target, source) : target);
    }
  }
  setModes(root, 0o555, 0o444);
  redis = await startRedis();
  const [port, opsPort] = [await freePort(), await freePort()];
  const own = { PORT: String(port), OPS_PORT: String(opsPort), DATA_DIR: '/nowhere', REDIS_URL: redis.url };
  env = { PATH: process.env['PATH'] ?? '', ...environmentOf(image), ...own };
}, 3 * START_MS);
afterAll(async () => {
  for (const child of processes) child.kill('SIGKILL');
  await redis.stop();
  setModes(root, 0o755, 0o644);
  rmSync(root, { recursive: true, force: true });
});

describe('the image', () => {
  it('has no sources and no compiler', () => {
    const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
    const isOurs = (name: string): boolean => !name.startsWith('node_modules/');
    expect(names.filter((name) => isOurs(name) && name.endsWith('.ts'))).toEqual([]);
    expect(names).not.toContain('node_modules/typescript');
    expect(names).toContain('node_modules/undici/package.json');
  });

  it(
    'starts read-only as a user other than root, is healthy, creates keys, and drains',
    async () => {
      expect(await run(commandOf(image, 'HEALTHCHECK'))).toMatchObject({ code: 1 });

      const gateway = start([...commandOf(image, 'ENTRYPOINT'), ...commandOf(image, 'CMD')]);
      await untilStarted(gateway, () => gateway.stdout().includes('\nKeys: in Redis'));
      expect(gateway.stdout()).toContain(
        'local is left out: its upstream is a development chain, which does not start in production',
      );
      expect(await run(commandOf(image, 'HEALTHCHECK'))).toEqual({ code: 0, stdout: '', stderr: '' });

      // As docs/install.md describes.
      const made = await run(['node', 'bin/gatehouse.js', 'keys', 'create', '--name', 'alice']);
      const key = /^gh_\w{32}$/m.exec(made.stdout)?.[0] ?? made.stderr;
      const response = await fetch(`http://127.0.0.1:${env['PORT']}/ethereum-mainnet/v3/${key}`, {
        method: 'POST',
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
      });
      expect(await response.text()).toBe('{"jsonrpc":"2.0","id":1,"result":"0x1"}');

      gateway.signal('SIGTERM');
      expect(await gateway.ended).toMatchObject({ code: 0 });
      expect(gateway.stderr()).toContain('draining');
      expect(gateway.stderr()).not.toMatch(/EACCES|EROFS|ENOENT|error/i);
    },
    5 * START_MS,
  );
});

function copy(from: string, to: string): void {
  mkdirSync(dirname(join(root, to)), { recursive: true });
  cpSync(join(packageRoot, from), join(root, to), { recursive: true, dereference: true });
}

function setModes(folder: string, folders: number, files: number): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) setModes(path, folders, files);
    else chmodSync(path, files);
  }
  chmodSync(folder, folders);
}

function start([, ...args]: readonly string[]) {
  const child = tracked(spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], ...user }));
  processes.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code]) => {
    processes.delete(child);
    return { code: code as number | null, stdout, stderr };
  });
  return { stdout: () => stdout, stderr: () => stderr, ended, signal: (name: NodeJS.Signals) => child.kill(name) };
}

function run(command: readonly string[]) {
  return start(command).ended;
}
