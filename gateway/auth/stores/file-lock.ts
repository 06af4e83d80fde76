import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyStoreError } from './key-store.ts';

/** Who holds the lock needs milliseconds; a lock this old was left behind. */
const maxLockAgeMs = 5_000;
const timeoutMs = 10_000;

/**
 * Runs `work` while no other process (or other caller of this one) does the same under the lock file `path`.
 * `work` is synchronous: nothing else of this process comes between. A lock left behind by a killed process is taken
 * over: at once where its process is known to be gone, else after some seconds.
 * @throws KeyStoreError that names the lock file, when it is still held after ten seconds.
 */
export async function withFileLock<Result>(path: string, work: () => Result): Promise<Result> {
  const token = `${hostname()} ${process.pid} ${randomUUID()}`;
  const deadline = Date.now() + timeoutMs;
  while (!acquire(path, token)) {
    if (Date.now() > deadline)
      throw new KeyStoreError(`${path} is held by another process; remove it if none is at work`);
    removeIfStale(path);
    await sleep(5 + Math.random() * 15);
  }
  try {
    return work();
  } finally {
    if (holderOf(path) === token) rmSync(path, { force: true });
  }
}

function acquire(path: string, token: string): boolean {
  try {
    writeFileSync(path, token, { flag: 'wx', mode: 0o600 });
    // Someone who took an older lock for stale may have removed ours in its place: then it is not ours any more.
    return holderOf(path) === token;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function removeIfStale(path: string): void {
  const holder = holderOf(path);
  if (holder === undefined || !isStale(path, holder)) return;
  // Moved away first, then looked at: a new lock may have come into its place since.
  const removed = `${path}.${randomUUID()}`;
  try {
    renameSync(path, removed);
  } catch {
    return;
  }
  try {
    if (holderOf(removed) !== holder) linkSync(removed, path);
  } catch {
    // Yet another lock is there: the one moved away has lost its place.
  } finally {
    rmSync(removed, { force: true });
  }
}

function isStale(path: string, holder: string): boolean {
  const [host, pid] = holder.split(' ');
  if (host === hostname() && isGone(Number(pid))) return true;
  const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return modified !== undefined && Date.now() - modified > maxLockAgeMs;
}

function isGone(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}

function holderOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
