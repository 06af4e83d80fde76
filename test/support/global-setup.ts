import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { packageRoot } from '../../gateway/config/package.ts';
import { findProgram, onPath } from './find-program.ts';
import { programs } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a real `redis-server` or `valkey-server`; empty if `npm test` runs without one. */
    redisServer: string;
  }
}

/** The process that has compiled: Vitest runs this file for each project. */
const COMPILED = 'COMPILED_FOR_TESTS';

/**
 * Runs before all tests. Compiles what has changed, once: beside other tests that takes longer than they wait for a start.
 * Each test starts its own Redis (`startRedis`), which only `npm run test:all` installs.
 */
export default function setup(project: TestProject): void {
  if (process.env[COMPILED] !== String(process.pid)) compile();
  const isOfAll = process.env['TESTS'] !== undefined;
  project.provide('redisServer', isOfAll ? findProgram(programs.redis) : (onPath(programs.redis.names) ?? ''));
}

function compile(): void {
  const run = (...args: string[]): void => {
    execFileSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  };
  run(join(packageRoot, 'bin/gatehouse.js'), '--version');
  // Some tests start benches, and modules of the gateway, in processes of their own.
  run(
    join(packageRoot, 'node_modules/typescript-7/bin/tsc'),
    '-p',
    join(packageRoot, 'tsconfig.build.json'),
    '--noCheck',
  );
  process.env[COMPILED] = String(process.pid);
}
