#!/usr/bin/env node
// Runs the compiled gateway, and compiles it first if the sources are newer: so `npm ci && npm start` is enough. Images
// run dist/gateway/main.js directly.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const main = join(root, 'dist/gateway/main.js');
const stamp = join(root, 'dist/.tsbuildinfo');
const lock = join(root, 'dist/.compiling');

if (!isFresh()) compile();
await import(main);

function isFresh() {
  if (!existsSync(main)) return false;
  const builtAt = existsSync(stamp) ? statSync(stamp).mtimeMs : statSync(main).mtimeMs;
  return ['gateway', 'schemas']
    .filter((folder) => existsSync(join(root, folder)))
    .every((folder) =>
      readdirSync(join(root, folder), { recursive: true })
        .filter((name) => name.endsWith('.ts'))
        .every((name) => statSync(join(root, folder, name)).mtimeMs <= builtAt),
    );
}

function compile() {
  const compiler = findCompiler();
  if (compiler === undefined) {
    if (existsSync(main)) return;
    console.error('dist/ is missing and TypeScript is not installed: run `npm ci && npm run build` once, then prune.');
    process.exit(78);
  }
  takeLock();
  let status = 0;
  if (!isFresh()) {
    if (process.stderr.isTTY || process.env.npm_lifecycle_event !== undefined)
      console.error('Compiling the gateway: only at the first start, and after changes of its sources …');
    const startedAt = new Date();
    const args = [compiler, '-p', join(root, 'tsconfig.build.json')];
    status = spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2] }).status;
    // If only file times changed, the compiler does not write the stamp, and every start would compile again.
    // Code with errors is compiled too, but its stamp is never fresh.
    const builtAt = status === 0 ? startedAt : new Date(0);
    if (existsSync(stamp)) utimesSync(stamp, builtAt, builtAt);
  }
  rmSync(lock, { force: true });
  if (status !== 0) process.exit(1);
}

/** Only one process compiles: `npm start` in one shell, `npx gatehouse-rpc keys …` in another. */
function takeLock() {
  for (;;) {
    try {
      mkdirSync(join(root, 'dist'), { recursive: true });
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      // The folder is not writable: the compiler reports that with a better message.
      if (error.code !== 'EEXIST') return;
    }
    if (isLockHeld()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    else rmSync(lock, { force: true });
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

function findCompiler() {
  try {
    return createRequire(import.meta.url).resolve('typescript/bin/tsc');
  } catch {
    return undefined;
  }
}
