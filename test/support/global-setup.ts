import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of a real `redis-server` or `valkey-server`. */
    redisServer: string;
  }
}

/** Runs once before all tests: makes sure that a real Redis is there. Each test starts its own (`startRedis`). */
export default function setup(project: TestProject): void {
  project.provide('redisServer', findRedis() ?? installRedis());
}

function findRedis(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return ['redis-server', 'valkey-server']
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => isExecutable(path));
}

function installRedis(): string {
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) {
    throw new Error(
      'The tests need a real Redis: put redis-server or valkey-server on PATH ' +
        '(Debian and Ubuntu: sudo apt-get install redis-server; macOS: brew install redis).',
    );
  }
  process.stderr.write('No redis-server on PATH: installing it by apt-get …\n');
  withoutStartingServices(() => {
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'redis-server');
  });
  const path = findRedis();
  if (path === undefined) throw new Error('apt-get installed redis-server, but it is not on PATH');
  return path;
}

function apt(...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', args, { env, stdio: 'pipe', timeout: 240_000 });
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr ?? error).trim();
    throw new Error(`The tests need a real Redis, and apt-get ${args[0] ?? ''} failed:\n${said}`, { cause: error });
  }
}

/** Debian's packages start their service unless this file says no (exit status 101, /usr/share/doc/init-system-helpers). */
function withoutStartingServices(install: () => void): void {
  const policy = '/usr/sbin/policy-rc.d';
  const text = '#!/bin/sh\nexit 101\n';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, text, { mode: 0o755 });
  try {
    install();
  } finally {
    if (ours && readFileSync(policy, 'utf8') === text) rmSync(policy);
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
