#!/usr/bin/env node
// Runs the bundle of the gateway, and makes it first if the sources are newer: so `npm ci && npm start` is enough. Images
// run dist/bundle/main.js directly.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const main = join(root, 'dist/bundle/main.js');
const lock = join(root, 'dist/.bundling');

if (existsSync(lock) || !isFresh()) bundle();
await import(main);

function isFresh() {
  if (!existsSync(main)) return false;
  const builtAt = statSync(main).mtimeMs;
  const sources = ['gateway', 'local-chain', 'schemas']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)))
    .filter((name) => name.endsWith('.ts'));
  // The lockfile has the packages of the bundle.
  const others = ['package-lock.json', 'rolldown.config.js'].filter((name) => existsSync(join(root, name)));
  return [...sources, ...others].every((name) => statSync(join(root, name)).mtimeMs <= builtAt);
}

function bundle() {
  const bundler = findBundler();
  if (bundler === undefined) {
    if (existsSync(main)) return;
    console.error('dist/ is missing and the bundler is not installed: run `npm ci && npm run build` once, then prune.');
    process.exit(78);
  }
  takeLock();
  let status = 0;
  if (!isFresh()) {
    if (process.stderr.isTTY || process.env.npm_lifecycle_event !== undefined)
      console.error('Compiling the gateway: only at the first start, and after changes of its sources …');
    const startedAt = new Date();
    const args = [bundler, '--config', join(root, 'rolldown.config.js')];
    status = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 2] }).status;
    // What changes during the work makes the next start work again.
    if (status === 0) utimesSync(main, startedAt, startedAt);
  }
  rmSync(lock, { force: true });
  if (status !== 0) process.exit(1);
}

/** Only one process makes the bundle: `npm start` in one shell, `npx gatehouse-rpc keys …` in another. */
function takeLock() {
  for (;;) {
    try {
      mkdirSync(join(root, 'dist'), { recursive: true });
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      // The folder is not writable: the bundler reports that with a better message.
      if (error.code !== 'EEXIST') return;
    }
    if (isLockHeld()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    else {
      // Its process ended while it made the bundle, which may lack files.
      rmSync(main, { force: true });
      rmSync(lock, { force: true });
    }
  }
}

function isLockHeld() {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    // The lock is created, but its pid is not yet written.
    if (pid === 0) return Date.now() - statSync(lock).mtimeMs < 1000;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function findBundler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('rolldown/package.json')), 'bin/cli.mjs');
  } catch {
    return undefined;
  }
}
