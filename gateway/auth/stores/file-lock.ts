import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { random } from '../../clock/random.ts';
import { clock } from '../../clock/clock.ts';
import { StoreError } from '../../store/store-error.ts';

/** A lock is held for milliseconds. A lock older than this was left by a process that ended. */
const MAX_LOCK_AGE_MS = 5_000;
const TIMEOUT_MS = 10_000;

/**
 * Runs `work` while this process holds the lock file `path`. While synchronous work runs, nothing else in this process does.
 * A stale lock is removed: at once if its process has ended on this machine, else 5 s after its creation.
 * @throws StoreError with the path of the lock file, if another process still holds it after 10 s
 */
export async function withFileLock<Result>(path: string, work: () => Result | Promise<Result>): Promise<Result> {
  const token = `${hostname()} ${process.pid} ${random.uuid()}`;
  const deadline = clock.unixMs() + TIMEOUT_MS;
  while (!acquire(path, token)) {
    if (clock.unixMs() > deadline)
      throw new StoreError(`${path} is locked by another process; remove the file if no such process exists`);
    removeIfStale(path);
    await clock.sleep(5 + random.number() * 15);
  }
  try {
    return await work();
  } finally {
    if (holderOf(path) === token) rmSync(path, { force: true });
  }
}

function acquire(path: string, token: string): boolean {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    writeFileSync(file, token);
  } catch (error) {
    // A full disk: without its content, the lock would block other processes until it is stale.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  // Another process may have removed this new lock in place of a stale one: then the lock is lost.
  return holderOf(path) === token;
}

function removeIfStale(path: string): void {
  const holder = holderOf(path);
  if (holder === undefined || !isStale(path, holder)) return;
  // Renamed before it is read: a new lock may have replaced the stale one meanwhile.
  const removed = `${path}.${random.uuid()}`;
  try {
    renameSync(path, removed);
  } catch {
    return;
  }
  try {
    if (holderOf(removed) !== holder) linkSync(removed, path);
  } catch {
    // Another lock exists at the path: the renamed one is lost.
  } finally {
    rmSync(removed, { force: true });
  }
}

function isStale(path: string, holder: string): boolean {
  const [host, pid] = holder.split(' ');
  if (host === hostname() && hasEnded(Number(pid))) return true;
  const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return modified !== undefined && clock.unixMs() - modified > MAX_LOCK_AGE_MS;
}

function hasEnded(pid: number): boolean {
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
