import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onPath } from '../support/find-program.ts';

/** The version to which the allowed differences apply. */
export const GETH_VERSION = '1.17.5';

const INSTALL_TIMEOUT_MS = 900_000;

/**
 * The path of geth in this version: on PATH, where Go installs programs, or installed there through the Go module proxy.
 * @throws Error that names what is missing
 */
export function findGeth(): string {
  const go = onPath(['go']);
  const folder = go === undefined ? undefined : goBinaries(go);
  const installed = folder === undefined ? undefined : join(folder, 'geth');
  const found = [onPath(['geth']), installed].find((path) => path !== undefined && isVersion(path));
  if (found !== undefined) return found;
  if (go === undefined || installed === undefined) {
    throw new Error(
      `npm run test:nodes needs geth ${GETH_VERSION} on PATH, or Go on PATH to install it: both are missing.`,
    );
  }
  process.stderr.write(`No geth ${GETH_VERSION} found: installing it by go install (about two minutes) …\n`);
  const module = `github.com/ethereum/go-ethereum/cmd/geth@v${GETH_VERSION}`;
  execFileSync(go, ['install', module], { stdio: ['ignore', 'inherit', 'inherit'], timeout: INSTALL_TIMEOUT_MS });
  if (!isVersion(installed)) throw new Error(`go install succeeded, but ${installed} is not geth ${GETH_VERSION}`);
  return installed;
}

function goBinaries(go: string): string {
  const [own = '', path = ''] = execFileSync(go, ['env', 'GOBIN', 'GOPATH'], { encoding: 'utf8' }).split('\n');
  return own === '' ? join(path, 'bin') : own;
}

function isVersion(path: string): boolean {
  if (!existsSync(path)) return false;
  return execFileSync(path, ['version'], { encoding: 'utf8' }).includes(`Version: ${GETH_VERSION}-`);
}
