import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { packageRoot } from '../../gateway/config/package.ts';
import { findProgram } from './find-program.ts';
import { programs } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a real `redis-server` or `valkey-server`. */
    redisServer: string;
  }
}

/**
 * Runs once before all tests. Installs missing programs, one after the other, because apt-get cannot run twice at a time,
 * and compiles what has changed: beside other tests that takes longer than they wait for a start. Each test starts its
 * own Redis (`startRedis`).
 */
export default function setup(project: TestProject): void {
  for (const program of Object.values(programs)) findProgram(program);
  const stdio = ['ignore', 'inherit', 'inherit'] as const;
  execFileSync(process.execPath, [join(packageRoot, 'bin/gatehouse.js'), '--version'], { stdio: [...stdio] });
  // Some tests start benches, and modules of the gateway, in processes of their own.
  const compiler = join(packageRoot, 'node_modules/typescript-7/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(packageRoot, 'tsconfig.build.json')], { stdio: [...stdio] });
  project.provide('redisServer', findProgram(programs.redis));
}
