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

/**
 * Runs once before all tests. Compiles what has changed: beside other tests that takes longer than they wait for a start.
 * Each test starts its own Redis (`startRedis`), which only `npm run test:all` installs.
 */
export default function setup(project: TestProject): void {
  const stdio = ['ignore', 'inherit', 'inherit'] as const;
  execFileSync(process.execPath, [join(packageRoot, 'bin/gatehouse.js'), '--version'], { stdio: [...stdio] });
  // Some tests start benches, and modules of the gateway, in processes of their own.
  const compiler = join(packageRoot, 'node_modules/typescript-7/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(packageRoot, 'tsconfig.build.json')], { stdio: [...stdio] });
  const isOfAll = process.env['TESTS'] !== undefined;
  project.provide('redisServer', isOfAll ? findProgram(programs.redis) : (onPath(programs.redis.names) ?? ''));
}
