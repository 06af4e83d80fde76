// `npm run test:all -- runtimes`: the tests that a Node version can break, on newer Nodes of the npm package `node-<platform>-<cpu>`.
// `npm run test:all -- runtimes 24 test/e2e/stop.process.test.ts` uses these major versions and tests instead.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const args = process.argv.slice(2);
const isMajor = (arg) => /^\d+$/.test(arg);
const majors = args.some(isMajor) ? args.filter(isMajor) : ['22', '24'];
const tests = args.some((arg) => !isMajor(arg))
  ? args.filter((arg) => !isMajor(arg))
  : [
      ...[
        'start',
        'stop',
        'workers',
        'worker-access',
        'worker-quotas',
        'worker-subscriptions',
        'clients',
        'conversations',
        'redis',
        'reload',
        'installed',
      ].map((name) => `test/e2e/${name}.`),
      ...['test/server/websocket', 'test/server/http', 'test/memory', 'test/upstreams/transport'],
    ];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-runtimes-'));
try {
  for (const major of majors) {
    const node = install(major);
    console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`);
    // The processes of tests are started with this Node too: `process.execPath`.
    const { status } = spawnSync(node, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...tests], {
      cwd: root,
      stdio: 'inherit',
    });
    if (status !== 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @returns the path of a Node with this major version */
function install(major) {
  const name = `node-${process.platform}-${process.arch}`;
  const own = join(folder, major);
  mkdirSync(own);
  try {
    execFileSync('npm', ['install', '--prefix', own, '--no-audit', '--no-fund', `${name}@${major}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } catch {
    console.error(`npm cannot install ${name}@${major}: the tests need it`);
    process.exit(1);
  }
  return join(own, 'node_modules', name, 'bin/node');
}
