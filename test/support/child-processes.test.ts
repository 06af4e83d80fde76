import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { endChildren, tracked } from './child-processes.ts';
import { processTree } from './process-tree.ts';

it('a child of a failed set-up ends with what it started, with its test file', async () => {
  const child = tracked(spawn('sh', ['-c', 'sleep 600 & echo started; wait'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  await once(child.stdout, 'data');
  const pids = processTree(child.pid ?? 0);
  expect(pids).toHaveLength(2);
  // The pipe closes when both have ended, as both write to it.
  const closed = once(child, 'close');
  await endChildren();
  await closed;
  expect(child.signalCode).toBe('SIGKILL');
});
