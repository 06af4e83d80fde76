import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onPath } from './find-program.ts';

const INSTALL_TIMEOUT_MS = 1_800_000;

/** A program that Go can install. */
export interface GoProgram {
  readonly name: string;
  /** Package of the Go module proxy. */
  readonly package: string;
  readonly version: string;
  /** Prints a text with `versionText`. */
  readonly versionArgs: readonly string[];
  readonly versionText: string;
}

/**
 * The path of the program in its version: on PATH, where Go installs programs, or installed there through the Go module proxy.
 * @throws Error that names what is missing
 */
export function findGoProgram(program: GoProgram): string {
  const { name, package: source, version } = program;
  const go = onPath(['go']);
  const installed = go === undefined ? undefined : join(goBinaries(go), name);
  const found = [onPath([name]), installed].find((path) => path !== undefined && isVersion(path, program));
  if (found !== undefined) return found;
  if (go === undefined || installed === undefined) {
    throw new Error(`${name} ${version} must be on PATH, or Go on PATH to install it: both are missing.`);
  }
  process.stderr.write(`No ${name} ${version} found: installing it by go install (some minutes) …\n`);
  const args = ['install', `${source}@v${version}`];
  execFileSync(go, args, { stdio: ['ignore', 'inherit', 'inherit'], timeout: INSTALL_TIMEOUT_MS });
  if (!isVersion(installed, program)) {
    throw new Error(`go install succeeded, but ${installed} is not ${name} ${version}`);
  }
  return installed;
}

function goBinaries(go: string): string {
  const [own = '', path = ''] = execFileSync(go, ['env', 'GOBIN', 'GOPATH'], { encoding: 'utf8' }).split('\n');
  return own === '' ? join(path, 'bin') : own;
}

function isVersion(path: string, { versionArgs, versionText }: GoProgram): boolean {
  if (!existsSync(path)) return false;
  return execFileSync(path, versionArgs, { encoding: 'utf8' }).includes(versionText);
}
