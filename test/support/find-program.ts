import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Program {
  /** Equivalent names of the executable. */
  readonly names: readonly string[];
  /** The Debian package of the first name. */
  readonly debianPackage: string;
}

/**
 * The path of a program that npm does not provide: from PATH, else installed with apt-get on Debian as root.
 * @throws if it is missing and cannot be installed; the message has instructions
 */
export function findProgram(program: Program): string {
  return onPath(program.names) ?? install(program);
}

/** The path of the first of these programs that is on PATH. */
export function onPath(names: readonly string[]): string | undefined {
  // Debian installs nginx in /usr/sbin, which may not be on PATH.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), '/usr/sbin'];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => isExecutable(path));
}

function install({ names, debianPackage }: Program): string {
  const wanted = names.join(' or ');
  if (!existsSync('/etc/debian_version') || process.getuid?.() !== 0) {
    throw new Error(
      `The tests need ${wanted}: put it on PATH (Debian and Ubuntu: sudo apt-get install ${debianPackage}).`,
    );
  }
  process.stderr.write(`No ${wanted} on PATH: installing ${debianPackage} by apt-get …\n`);
  withoutStartingServices(() => {
    apt(debianPackage, 'update');
    apt(debianPackage, 'install', '-y', '--no-install-recommends', debianPackage);
  });
  const path = onPath(names);
  if (path === undefined) throw new Error(`apt-get installed ${debianPackage}, but ${wanted} is not on PATH`);
  return path;
}

function apt(debianPackage: string, ...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', ['-o', 'DPkg::Lock::Timeout=240', ...args], { env, stdio: 'pipe', timeout: 240_000 });
  } catch (error) {
    const errors = String((error as { stderr?: unknown }).stderr ?? error).trim();
    throw new Error(`The tests need Debian’s ${debianPackage}, and apt-get ${args[0] ?? ''} failed:\n${errors}`, {
      cause: error,
    });
  }
}

/** Debian packages start their service unless this file exits with 101 (/usr/share/doc/init-system-helpers). */
function withoutStartingServices(install: () => void): void {
  const policy = '/usr/sbin/policy-rc.d';
  const text = '#!/bin/sh\nexit 101\n';
  const isNew = !existsSync(policy);
  if (isNew) writeFileSync(policy, text, { mode: 0o755 });
  try {
    install();
  } finally {
    if (isNew && existsSync(policy) && readFileSync(policy, 'utf8') === text) rmSync(policy);
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
