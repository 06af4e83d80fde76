#!/usr/bin/env node
// Runs the compiled gateway, and compiles it first where the sources are newer: so that `npm ci && npm start` is all
// there is to it. An image runs dist/gateway/main.js itself.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const main = join(root, 'dist/gateway/main.js');
const stamp = join(root, 'dist/.tsbuildinfo');

if (!isFresh()) compile();
await import(main);

function isFresh() {
  if (!existsSync(main)) return false;
  const builtAt = existsSync(stamp) ? statSync(stamp).mtimeMs : statSync(main).mtimeMs;
  return ['gateway', 'schemas'].every((folder) =>
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
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exit(1);
}

function findCompiler() {
  try {
    return createRequire(import.meta.url).resolve('typescript/bin/tsc');
  } catch {
    return undefined;
  }
}
