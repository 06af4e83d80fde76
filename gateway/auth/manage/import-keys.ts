import { openLog } from '../../config/log.ts';
import { FileKeyStore } from '../stores/file-key-store.ts';
import type { KeyStore } from '../stores/key-store.ts';
import { keyIdOf } from '../formats/key.ts';
import { KeyOperationError, type KeyManager } from './manage-keys.ts';

/** How many keys of a key file were carried over, were there already, or are for development only and were left out. */
export interface Imported {
  readonly added: number;
  readonly there: number;
  readonly leftOut: number;
}

/**
 * Carries the keys of the key file in `dataDir` over to Redis. May be repeated: a revocation is carried over, and none
 * is undone.
 * @throws KeyActError where keys are not kept in Redis, KeyFileError
 */
export async function importKeys(dataDir: string, store: KeyStore, manager: KeyManager): Promise<Imported> {
  if (store.kind !== 'redis') {
    throw new KeyOperationError('no-redis', 'keys import carries keys over to Redis', 'set REDIS_URL');
  }
  const file = new FileKeyStore(dataDir, openLog('silent'));
  try {
    const entries = file.entries();
    const importable = entries.filter(([, key]) => key.development !== true);
    let added = 0;
    for (const [digest, key] of importable) {
      if (!(await store.add(digest, key))) continue;
      added += 1;
      await manager.auditImport(keyIdOf(digest));
    }
    return { added, there: importable.length - added, leftOut: entries.length - importable.length };
  } finally {
    await file.close();
  }
}
