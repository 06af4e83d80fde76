import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clock } from '../clock/clock.ts';
import { digestOf, isWellFormedKey, makeKey } from './formats/key.ts';
import type { KeyStore } from './stores/key-store.ts';
import { replacePrivateFile } from '../store/private-file.ts';

/**
 * Returns the development key, which the banner of `gatehouse start` shows. It is stored in plain text in
 * `DATA_DIR/development-key`, so that the next start shows the same key. Creates a new key if the file is missing, or
 * if the store does not have the key or it is revoked. Called only if `isDevelopment` is true. The record is marked as
 * a development key, and production rejects it.
 */
export async function ensureDevelopmentKey(store: KeyStore, dataDir: string): Promise<string> {
  const path = join(dataDir, 'development-key');
  const stored = readStoredKey(path);
  if (stored !== undefined && isWellFormedKey(stored)) {
    const record = await store.find(digestOf(stored));
    if (record?.development === true && record.revokedAt === undefined) return stored;
  }
  const key = makeKey();
  await store.add(digestOf(key), {
    name: 'development',
    createdAt: new Date(clock.unixMs()).toISOString(),
    development: true,
  });
  replacePrivateFile(path, `${key}\n`);
  return key;
}

function readStoredKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
