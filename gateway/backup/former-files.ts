import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { importKeyFile, importKeyHashes } from '../auth/stores/former-keys.ts';
import { clock } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { isDrain, storeDrain } from '../drains/drains.ts';
import { parsePoint, storePoint } from '../history/history-store.ts';
import { historyRanges, rangeNames, type HistoryRange } from '../metrics/history.ts';
import { openStore, type StoreSettings } from '../store/open-store.ts';
import { RedisStore } from '../store/redis-store.ts';
import { StoreError } from '../store/store-error.ts';
import type { Store } from '../store/store.ts';
import { importUsage } from '../usage/usage-store.ts';

const KEY_FILE = 'keys.json';
/** Suffix of the name of a file that was imported. */
const IMPORTED = '.imported';

/**
 * Opens the store and waits for Redis at most `timeoutMs`. Once, keys in Redis get their new form. If the store is a file, keys,
 * drains, usage and history in the files of a former version are imported once, and kept under another name.
 * @param isKeyCommand for commands about keys: they may read from a replica, and fail if keys in Redis cannot get their new form
 * @throws SettingsError for a malformed REDIS_URL, StoreError for these keys or for `keys.json` (rejects with it): without its
 *   keys, all callers would be rejected
 */
export async function openImportedStore(
  settings: StoreSettings,
  log: Log,
  timeoutMs: number,
  isKeyCommand = false,
): Promise<Store> {
  const store = openStore(settings, log, isKeyCommand);
  await store.waitUntilReady(timeoutMs);
  try {
    if (store instanceof RedisStore) await importKeyHashes(store, log, isKeyCommand);
    else await importFormerFiles(store, settings.DATA_DIR, log);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Repeating an import that was interrupted is safe: what is in the store stays as it is. */
async function importFormerFiles(store: Store, folder: string, log: Log): Promise<void> {
  for (const [name, read] of Object.entries(formerFiles(store, log))) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    try {
      await read(path);
      renameSync(path, path + IMPORTED);
      log.info({ file: name }, `a file of a former version was imported, and is ${name}${IMPORTED} now`);
    } catch (error) {
      // Another worker has imported it.
      if (errorCode(error) === 'ENOENT') continue;
      const reason = error instanceof StoreError ? error.message : `${path} cannot be imported (${errorCode(error)})`;
      if (name === KEY_FILE) throw new StoreError(reason);
      log.warn(
        { file: name, error: reason },
        'a file of a former version cannot be imported: it is left out until the next start',
      );
    }
  }
}

/** What reads each file or folder, given its path. */
function formerFiles(store: Store, log: Log): Readonly<Record<string, (path: string) => Promise<void>>> {
  const history = rangeNames.map((range) => [
    join('history', `${range}.jsonl`),
    (path: string) => importHistory(store, range, readFileSync(path, 'utf8')),
  ]);
  return {
    [KEY_FILE]: (path) => importKeyFile(store, path, log),
    'drains.json': (path) => importDrains(store, readFileSync(path, 'utf8')),
    ...(Object.fromEntries(history) as Record<string, (path: string) => Promise<void>>),
    usage: async (path) => {
      for (const day of readdirSync(path).filter((name) => /^\d{4}-\d\d-\d\d$/.test(name)))
        for (const file of readdirSync(join(path, day)))
          await importUsage(store, day, readFileSync(join(path, day, file), 'latin1'));
    },
  };
}

async function importDrains(store: Store, text: string): Promise<void> {
  const drains: unknown = JSON.parse(text);
  for (const drain of Array.isArray(drains) ? drains.filter(isDrain) : [])
    await storeDrain(store, drain, { expected: null });
}

async function importHistory(store: Store, range: HistoryRange, text: string): Promise<void> {
  const { stepS, steps } = historyRanges[range];
  const begin = clock.unixMs() / 1000 - stepS * steps;
  for (const [index, line] of text.split('\n').entries()) {
    const point = parsePoint(line);
    if (point !== undefined && point.at >= begin)
      await storePoint(store, range, { ...point, writers: [`line ${index}`] });
  }
}
