import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { processTree } from './process-tree.ts';

/** Children of this test process that have not ended. */
const running = new Set<ChildProcess>();

process.once('exit', killAll);
// Neither a signal nor the end of the test runner, which closes the channel to this process, emits `exit` by itself.
for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) process.once(event, () => process.exit(1));

/**
 * Ends a child, and what it started, with its test file (`clean-up.ts`) and with this process. A test stops its children
 * itself; this is for those that a failed or interrupted set-up leaves. Each child of a test is tracked (a test checks it).
 */
export function tracked<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.once('error', () => child.pid === undefined && running.delete(child));
  return child;
}

/** Kills the children that still run, and waits for their ends. */
export async function endChildren(): Promise<void> {
  const ends = [...running].map((child) => once(child, 'exit'));
  killAll();
  await Promise.all(ends);
}

function killAll(): void {
  for (const { pid: started } of running) {
    for (const pid of started === undefined ? [] : processTree(started)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // it has ended meanwhile
      }
    }
  }
}
