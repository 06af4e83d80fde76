import type { TestProject } from 'vitest/node';
import { findProgram } from './find-program.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a real `redis-server` or `valkey-server`. */
    redisServer: string;
  }
}

/** Runs once before all tests: makes sure that a real Redis is there. Each test starts its own (`startRedis`). */
export default function setup(project: TestProject): void {
  const redis = { names: ['redis-server', 'valkey-server'], debianPackage: 'redis-server' };
  project.provide('redisServer', findProgram(redis));
}
