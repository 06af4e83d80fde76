import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { FileStore } from '../../gateway/store/file-store.ts';
import { silent } from '../auth/auth-setup.ts';
import { tracked } from '../support/child-processes.ts';
import { inLongRun } from '../support/long-run.ts';

/** 200 were run on 2026-11-30. */
const KILLS = inLongRun(12, 3);

/**
 * Starts a process that puts the records 0, 1, … of a folder, adds 1 to two sums with each, and prints the number of each record
 * that is confirmed. Node 20 cannot run TypeScript, so it runs the compiled gateway.
 */
function startWriter(dataDir: string, folder: string) {
  const program = `
    import { openLog } from './dist/gateway/config/log.js';
    import { FileStore } from './dist/gateway/store/file-store.js';
    const store = new FileStore('${dataDir}', openLog('silent'));
    for (let n = 0; ; n++) {
      const text = String(n).padEnd(300, 'x');
      const added = store.add('sums', '${folder}', { a: 1, b: 1 }, { ttlMs: 3_600_000, number: n + 1 });
      await Promise.all([store.put('${folder}', String(n), text), added]);
      process.stdout.write(n + '\\n');
    }`;
  const args = ['--input-type=module', '-e', program];
  return tracked(spawn(process.execPath, args, { cwd: packageRoot, stdio: ['ignore', 'pipe', 'inherit'] }));
}

it('a file has all that was confirmed to a process that is killed while it writes, beside one that goes on', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-killed-'));
  const store = new FileStore(dataDir, silent);
  const beside = startWriter(dataDir, 'beside');
  onTestFinished(async () => {
    beside.kill('SIGKILL');
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  let besideConfirmed = 0;
  createInterface({ input: beside.stdout }).on('line', () => besideConfirmed++);
  for (let round = 0; round < KILLS; round++) {
    const folder = `round ${round}`;
    const writer = startWriter(dataDir, folder);
    let confirmed = 0;
    const until = 1 + Math.floor(Math.random() * 60);
    createInterface({ input: writer.stdout }).on('line', () => {
      if (++confirmed === until) writer.kill('SIGKILL');
    });
    await once(writer, 'close');
    const [records, [sums]] = [await store.scan(folder), await store.sums('sums', [folder])];
    expect(records.size).toBeGreaterThanOrEqual(Math.max(until, confirmed));
    for (let n = 0; n < records.size; n++) expect(records.get(String(n))).toBe(String(n).padEnd(300, 'x'));
    // Both sums or none of an operation; it shares a transaction with the record of its turn.
    expect(sums).toEqual({ a: records.size, b: records.size });
  }
  const ended = once(beside, 'close');
  beside.kill('SIGKILL');
  await ended;
  expect(besideConfirmed).toBeGreaterThan(0);
  expect((await store.scan('beside')).size).toBeGreaterThanOrEqual(besideConfirmed);
});
