import { openLog } from '../config/log.ts';
import { FileKeyStore } from '../keys/file-key-store.ts';
import type { KeyStore } from '../keys/key-store.ts';
import { keyIdOf } from '../keys/key.ts';
import type { KeyManager } from '../keys/manage-keys.ts';

/** Carries the keys of a key file over to Redis. @returns what is to be said of it */
export async function importKeys(dataDir: string, redis: KeyStore, manager: KeyManager): Promise<string> {
  const file = new FileKeyStore(dataDir, openLog('silent'));
  try {
    const entries = file.entries();
    if (entries.length === 0) return `No keys in ${file.path}.\n`;
    const lasting = entries.filter(([, key]) => key.development !== true);
    let added = 0;
    for (const [digest, key] of lasting) {
      if (!(await redis.add(digest, key))) continue;
      added += 1;
      await manager.noteImport(keyIdOf(digest));
    }
    const there = lasting.length - added;
    const left = entries.length - lasting.length;
    return `Carried over to Redis: ${added}; there already: ${there}; development keys left out: ${left}.\n`;
  } finally {
    await file.close();
  }
}
