import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

let isPinned = false;

/**
 * Gives what is measured the first core, and this process, which is all around it, the others: so neither takes time
 * from the other, and all are measured alike. Where there is one core, or no taskset, everything stays as it is.
 */
export function pinThisProcess(): boolean {
  const cores = availableParallelism();
  if (cores < 2) return false;
  try {
    execFileSync('taskset', ['-a', '-c', '-p', `1-${cores - 1}`, String(process.pid)], { stdio: 'ignore' });
    isPinned = true;
  } catch {
    // Reported: figures vary more.
  }
  return isPinned;
}

/** What to start in place of a program that is to be measured. */
export function pinned(file: string, args: readonly string[]): [file: string, args: readonly string[]] {
  return isPinned ? ['taskset', ['-c', '0', file, ...args]] : [file, args];
}
