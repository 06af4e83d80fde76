import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { DiskCache } from '../../gateway/cache/disk-cache.ts';
import { makeFolderInMemory } from '../support/folder-in-memory.ts';

/** The path of a DATA_DIR that does not exist yet. */
export function folderOfTest(): string {
  const folder = makeFolderInMemory('gatehouse-cache-');
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return join(folder, 'data');
}

export function openDisk(dataDir: string, { maxBytes = 10_000_000, freeBytes = (): number => 1e12 } = {}) {
  const outcomes: Record<string, number> = {};
  let logged = '';
  const log = pino({ base: null }, { write: (line) => (logged += line) });
  const path = join(dataDir, 'cache.db');
  const disk = new DiskCache(
    path,
    maxBytes,
    (outcome) => (outcomes[outcome] = (outcomes[outcome] ?? 0) + 1),
    log,
    freeBytes,
  );
  onTestFinished(() => disk.close());
  return { disk, path, outcomes, logged: () => logged };
}
