import type { TestProject } from 'vitest/node';
import { findProgram } from './find-program.ts';
import { programs } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a real `redis-server` or `valkey-server`. */
    redisServer: string;
  }
}

/**
 * Runs once before all tests and installs missing programs, one after the other, because apt-get cannot run twice at a
 * time. Each test starts its own Redis (`startRedis`).
 */
export default function setup(project: TestProject): void {
  for (const program of Object.values(programs)) findProgram(program);
  project.provide('redisServer', findProgram(programs.redis));
}
