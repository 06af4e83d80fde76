import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { clock } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { isDrain, storeDrain } from '../drains/drains.ts';
import { parsePoint, storePoint } from '../history/history-store.ts';
import { historyRanges, rangeNames } from '../metrics/long-history.ts';
import { openStore, type StoreSettings } from '../store/open-store.ts';
import { StoreError } from '../store/store-error.ts';
import type { Store } from '../store/store.ts';

/** Added to the name of a file that was imported. */
const IMPORTED = '.imported';

/**
 * Opens the store and waits for Redis at most `timeoutMs`. If it is a file, drains and history in the files of versions before
 * 0.2 are imported once. They are kept under another name.
 * @throws SettingsError for a malformed REDIS_URL
 */
export async function openImportedStore(settings: StoreSettings, log: Log, timeoutMs: number): Promise<Store> {
  const store = openStore(settings, log);
  await store.waitUntilReady(timeoutMs);
  if (settings.REDIS_URL === undefined) await importFormerFiles(store, settings.DATA_DIR, log);
  return store;
}

/** Repeating an import that was interrupted is safe: what is in the store stays as it is. */
async function importFormerFiles(store: Store, folder: string, log: Log): Promise<void> {
  const files: Readonly<Record<string, (text: string) => Promise<void>>> = {
    'drains.json': (text) => importDrains(store, text),
  };
  for (const [name, read] of Object.entries({ ...files, ...historyFiles(store) })) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    try {
      await read(readFileSync(path, 'utf8'));
      renameSync(path, path + IMPORTED);
      log.info({ file: name }, `a file of a former version was imported, and is ${name}${IMPORTED} now`);
    } catch (error) {
      // Another worker has imported it.
      if (errorCode(error) === 'ENOENT') continue;
      const reason = error instanceof StoreError ? error.message : errorCode(error);
      log.warn(
        { file: name, error: reason },
        'a file of a former version cannot be imported: it is left out until the next start',
      );
    }
  }
}

async function importDrains(store: Store, text: string): Promise<void> {
  const drains: unknown = JSON.parse(text);
  for (const drain of Array.isArray(drains) ? drains.filter(isDrain) : [])
    await storeDrain(store, drain, { expected: null });
}

function historyFiles(store: Store): Record<string, (text: string) => Promise<void>> {
  const entries = rangeNames.map((range) => {
    const { stepS, steps } = historyRanges[range];
    const read = async (text: string): Promise<void> => {
      const begin = clock.unixMs() / 1000 - stepS * steps;
      for (const [index, line] of text.split('\n').entries()) {
        const point = parsePoint(line);
        if (point !== undefined && point.at >= begin)
          await storePoint(store, range, { ...point, writers: [`line ${index}`] });
      }
    };
    return [join('history', `${range}.jsonl`), read] as const;
  });
  return Object.fromEntries(entries);
}
