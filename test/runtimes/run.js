// `npm run test:all -- runtimes`: the tests that a Node version can break, on newer Nodes of the npm package `node-<platform>-<cpu>`.
// `npm run test:all -- runtimes 24 test/e2e/stop.process.test.ts` uses these major versions and tests instead.
// Those named `*.long.*`, and more rows of the others, run in the project `long`.
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
        'installed.long',
      ].map((name) => `test/e2e/${name}.`),
      ...['test/server/websocket', 'test/server/http', 'test/memory', 'test/upstreams/transport'],
    ];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-runtimes-'));
try {
  for (const major of majors) {
    const node = install(major);
    console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`);
    const short = tests.filter((test) => !test.includes('.long.'));
    const passes = [
      short.length === 0 || run(node, short),
      run(node, ['--passWithNoTests', ...tests], { ...process.env, TESTS: 'long' }),
    ];
    if (passes.includes(false)) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs Vitest. The processes of tests are started with this Node too: `process.execPath`. @returns whether it passes */
function run(node, vitestArgs, env = process.env) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return spawnSync(node, [vitest, 'run', ...vitestArgs], { cwd: root, stdio: 'inherit', env }).status === 0;
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
