import { KeyOperationError } from '../auth/manage/key-operation-error.ts';
import type { KeyManager } from '../auth/manage/manage-keys.ts';
import { KeyStore } from '../auth/stores/key-store.ts';
import { openLog } from '../config/log.ts';
import { openImportedStore } from './former-files.ts';

/** Counts of an import. `there`: keys that the store already had; `leftOut`: development keys, which are skipped. */
export interface ImportCounts {
  readonly added: number;
  readonly there: number;
  readonly leftOut: number;
}

/**
 * Imports the keys of the file in `dataDir` into Redis. Repeating an import is safe: it adds revocations and never undoes one.
 * @throws KeyOperationError if the file is the store; StoreError (rejects with it)
 */
export async function importKeys(dataDir: string, store: KeyStore, manager: KeyManager): Promise<ImportCounts> {
  if (store.kind === 'file') {
    throw new KeyOperationError('no-redis', 'keys import copies keys to Redis', 'set REDIS_URL');
  }
  const log = openLog('silent');
  const file = await openImportedStore({ REDIS_URL: undefined, DATA_DIR: dataDir }, log, 0);
  try {
    const entries = [...(await new KeyStore(file, log).entries())];
    const importable = entries.filter(([, key]) => key.development !== true);
    let added = 0;
    for (const [digest, { id, ...key }] of importable) {
      if (!(await store.add(digest, key))) continue;
      added += 1;
      await manager.audit('import', id);
    }
    return { added, there: importable.length - added, leftOut: entries.length - importable.length };
  } finally {
    await file.close();
  }
}
