import { readFileSync, statSync } from 'node:fs';
import { MAX_TIMER_MS } from '../../clock/clock.ts';
import { isObject } from '../../collections/is-object.ts';
import { errorCode, type Log } from '../../config/log.ts';
import type { RedisStore } from '../../store/redis-store.ts';
import { StoreError } from '../../store/store-error.ts';
import type { Store } from '../../store/store.ts';
import { isDigest } from '../formats/key.ts';
import { KEY_FOLDER, keyFromFields, KeyStore } from './key-store.ts';

/** Record of the folder that says which form the others have. */
const FORM = 'form';
const GROUP_OR_OTHERS_WRITE = 0o022;

/**
 * Adds the keys of `keys.json`, where version 0.1 had them, to the store, as `KeyStore.add` does.
 * @throws StoreError with the path if the file is invalid, or if other accounts may write it: they could have added keys; the
 *   error of the file system (rejects with it)
 */
export async function importKeyFile(store: Store, path: string, log: Log): Promise<void> {
  const mode = process.platform === 'win32' ? 0 : statSync(path).mode & 0o777;
  if ((mode & GROUP_OR_OTHERS_WRITE) !== 0)
    throw new StoreError(`${path} may be written by other accounts (mode ${mode.toString(8)}): chmod 600 it`);
  const keys = readKeyFile(path);
  const found = Object.entries(keys).map(([digest, fields], index) => {
    // Without the name of the entry: an operator may have written a key there.
    if (!isDigest(digest) || !isObject(fields) || typeof fields['name'] !== 'string')
      throw new StoreError(`${path}: entry ${index + 1} is not a key: expected a SHA-256 and a record`);
    return [digest, keyFromFields(fields)] as const;
  });
  const stored = new KeyStore(store, log);
  await Promise.all(found.map(([digest, key]) => stored.add(digest, key)));
}

/** @throws StoreError, or the error of the file system */
function readKeyFile(path: string): object {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new StoreError(`${path} is not valid JSON: restore it from a backup, or remove it to start without keys`);
  }
  const keys = isObject(content) ? content['keys'] : undefined;
  if (!isObject(keys)) throw new StoreError(`${path} is not a key file: expected {"keys": {…}}`);
  return keys;
}

/**
 * Makes records of the hashes in which version 0.1 had keys, once in each Redis: later if it is unavailable now. A failure is
 * logged, because callers with these keys are rejected then.
 * @param isKeyCommand whether keys that have no new form are a failure of the command
 * @throws StoreError if they are (rejects with it)
 */
export async function importKeyHashes(store: RedisStore, log: Log, isKeyCommand = false): Promise<void> {
  store.isConverting = true;
  if (store.isUp) await convert(store, log, isKeyCommand);
  // Not after the store is closed.
  else
    void store.waitUntilReady(MAX_TIMER_MS).then(() => (store.isConverting ? importKeyHashes(store, log) : undefined));
}

async function convert(store: RedisStore, log: Log, isKeyCommand: boolean): Promise<void> {
  let isMoved = false;
  try {
    if ((await store.get(KEY_FOLDER, FORM)) === undefined) {
      const keys = new KeyStore(store, log);
      const count = await store.moveHashes(KEY_FOLDER, async (name, hash) => {
        if (!isDigest(name)) return false;
        await keys.add(name, keyFromFields(hash));
        return true;
      });
      isMoved = true;
      await store.put(KEY_FOLDER, FORM, '1', { isUrgent: true });
      if (count > 0) log.info({ keys: count }, 'the keys in Redis have another form now');
    }
  } catch (error) {
    const reason = error instanceof StoreError ? error.message : errorCode(error);
    if (isKeyCommand && !isMoved)
      throw new StoreError(`Redis may have keys of a former version, which cannot get their new form: ${reason}`);
    if (store.isConverting && !store.isUp) return importKeyHashes(store, log);
    const cure = 'run `gatehouse keys list` with the rights of operator, unless Redis has no keys of a former version';
    log.warn({ error: reason }, `it is not known whether Redis has keys of a former version: ${cure}`);
  }
  store.isConverting = false;
}
