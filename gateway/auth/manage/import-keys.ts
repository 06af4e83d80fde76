import { openLog } from '../../config/log.ts';
import { FileKeyStore } from '../stores/file-key-store.ts';
import type { KeyStore } from '../stores/key-store.ts';
import { KeyOperationError } from './key-operation-error.ts';
import type { KeyManager } from './manage-keys.ts';

/** Counts of an import. `there`: keys that the store already had; `leftOut`: development keys, which are skipped. */
export interface ImportCounts {
  readonly added: number;
  readonly there: number;
  readonly leftOut: number;
}

/**
 * Imports the keys of the key file in `dataDir` into another store. Repeating an import is safe: it adds revocations and never
 * undoes one.
 * @throws KeyOperationError if the key file is the store; KeyFileError
 */
export async function importKeys(dataDir: string, store: KeyStore, manager: KeyManager): Promise<ImportCounts> {
  if (store instanceof FileKeyStore) {
    throw new KeyOperationError('no-redis', 'keys import copies keys to Redis', 'set REDIS_URL');
  }
  const file = new FileKeyStore(dataDir, openLog('silent'));
  try {
    const entries = [...(await file.entries())];
    const importable = entries.filter(([, key]) => key.development !== true);
    let added = 0;
    for (const [digest, { id, ...key }] of importable) {
      if (!(await store.add(digest, key))) continue;
      added += 1;
      await manager.auditImport(id);
    }
    return { added, there: importable.length - added, leftOut: entries.length - importable.length };
  } finally {
    await file.close();
  }
}
