import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Cores before this process was pinned. */
const cores = availableParallelism();
let isPinned = false;

/**
 * Pins this process, with the clients and the upstream, to all cores except the first. Programs under test get the first
 * core, so that neither takes CPU time from the other. Does nothing on one core or without taskset.
 */
export function pinThisProcess(): boolean {
  if (cores < 2) return false;
  try {
    execFileSync('taskset', ['-a', '-c', '-p', `1-${cores - 1}`, String(process.pid)], { stdio: 'ignore' });
    isPinned = true;
  } catch {
    // The caller reports that figures vary more.
  }
  return isPinned;
}

/** The command that starts a program under test, on the first core if this process is pinned. */
export function pinned(file: string, args: readonly string[]): [file: string, args: readonly string[]] {
  return isPinned ? ['taskset', ['-c', '0', file, ...args]] : [file, args];
}

/** The command that starts a program with several processes, on all cores although this process is pinned. */
export function onAllCores(file: string, args: readonly string[]): [file: string, args: readonly string[]] {
  return isPinned ? ['taskset', ['-c', `0-${cores - 1}`, file, ...args]] : [file, args];
}
