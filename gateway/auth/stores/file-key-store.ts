import { join, resolve } from 'node:path';
import { clock, type Timer } from '../../clock/clock.ts';
import { errorCode, type Log } from '../../config/log.ts';
import { withFileLock } from './file-lock.ts';
import { KeyFileUnreadable, keyFileText, keyFileVersion, readKeyFile, writeKeyFile, type KeyFile } from './key-file.ts';
import { keyIdOf } from '../formats/key.ts';
import {
  mergePermissions,
  keyRecord,
  type ChangeListener,
  type KeyRecord,
  type KeyStore,
  type AuditEntry,
  type PermissionChange,
  type RevocationListener,
  type RevocationOutcome,
  type StoredKey,
} from './key-store.ts';
import { StoreFull } from '../../store/store-error.ts';
import { appendPrivateFile, isDiskFull, isDiskFullAt, makePrivateFolderFor } from '../../store/private-file.ts';

/** Detects changes by other processes. Polled, because some mounted folders deliver no file events. */
const POLL_INTERVAL_MS = 200;
/** Bounds the polls that unknown keys start. */
const MIN_POLL_INTERVAL_MS = 10;
/** Interval of writes that show whether the disk is full: nothing else may be written for days. */
const DISK_CHECK_INTERVAL_MS = 5_000;

interface EditBatch {
  readonly edits: ((keys: Map<string, StoredKey>) => void)[];
  readonly written: Promise<void>;
}

/** Stores keys in `keys.json` under DATA_DIR, for a gateway and its command line on one machine without Redis. */
export class FileKeyStore implements KeyStore {
  readonly kind: string = 'file';
  readonly isAvailable = true;
  /** Every change is reported, and `find` reads the same memory. */
  readonly freshForMs = Number.POSITIVE_INFINITY;
  readonly path: string;
  readonly location: string;
  readonly #auditPath: string;
  readonly #log: Log;
  readonly #timer: Timer;
  readonly #listeners = new Set<ChangeListener>();
  #records: ReadonlyMap<string, KeyRecord>;
  #file: KeyFile;
  /** Edits that the next write applies. */
  #openBatch: EditBatch | undefined;
  /** The version that was read last, valid or not: an invalid one is logged once. */
  #version: string;
  #polledAt = clock.now();
  /** It could not be read at the last poll. */
  #isUnreadable = false;
  #isDiskFull = false;
  #diskCheckedAt = clock.now();

  /** @throws KeyFileError if the file exists but is invalid, or others may write it */
  constructor(dataDir: string, log: Log) {
    this.path = join(dataDir, 'keys.json');
    this.location = `in ${resolve(this.path)}`;
    this.#auditPath = join(dataDir, 'audit.jsonl');
    this.#log = log;
    this.#file = readKeyFile(this.path);
    this.#version = this.#file.version;
    this.#records = recordsOf(this.#file);
    this.#warnIfReadable();
    this.#timer = clock
      .setInterval(() => {
        this.#poll();
      }, POLL_INTERVAL_MS)
      .unref();
  }

  get isFull(): boolean {
    return this.#isDiskFull;
  }

  waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  find(digest: string): Promise<KeyRecord | undefined> {
    // A key that `gatehouse keys create` has just printed works at once.
    if (!this.#records.has(digest) && clock.now() - this.#polledAt >= MIN_POLL_INTERVAL_MS) this.#poll();
    return Promise.resolve(this.#records.get(digest));
  }

  add(digest: string, key: StoredKey): Promise<boolean> {
    return this.#change((keys) => {
      const existing = keys.get(digest);
      if (existing === undefined) keys.set(digest, key);
      else if (existing.revokedAt === undefined && key.revokedAt !== undefined) {
        keys.set(digest, { ...existing, revokedAt: key.revokedAt });
      }
      return existing === undefined;
    });
  }

  entries(): Promise<ReadonlyMap<string, KeyRecord>> {
    return Promise.resolve(this.#records);
  }

  show(id: string): Promise<KeyRecord | undefined> {
    return Promise.resolve([...this.#records.values()].find((record) => record.id === id));
  }

  revoke(id: string): Promise<KeyRecord | undefined> {
    return this.#changeOne(id, (key) => ({
      ...key,
      revokedAt: key.revokedAt ?? new Date(clock.unixMs()).toISOString(),
    }));
  }

  /** One write of the file, because all revocations start in one turn of the event loop. */
  revokeAll(ids: readonly string[], onRevoked: RevocationListener): Promise<RevocationOutcome[]> {
    return Promise.allSettled(
      ids.map(async (id) => {
        const record = await this.revoke(id);
        if (record !== undefined) await onRevoked(record);
        return record;
      }),
    );
  }

  remove(digest: string): Promise<boolean> {
    return this.#change((keys) => keys.delete(digest));
  }

  rename(id: string, name: string): Promise<KeyRecord | undefined> {
    return this.#changeOne(id, (key) => ({ ...key, name }));
  }

  update(id: string, change: PermissionChange): Promise<KeyRecord | undefined> {
    return this.#changeOne(id, (key) => ({ ...key, permissions: mergePermissions(key.permissions, change) }));
  }

  /** Appends to `audit.jsonl` beside the key file: one JSON object per line. */
  audit(entry: AuditEntry): Promise<void> {
    appendPrivateFile(this.#auditPath, `${JSON.stringify(entry)}\n`);
    return Promise.resolve();
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener);
  }

  close(): Promise<void> {
    clock.clearInterval(this.#timer);
    this.#listeners.clear();
    return Promise.resolve();
  }

  #changeOne(id: string, edit: (key: StoredKey) => StoredKey): Promise<KeyRecord | undefined> {
    return this.#change((keys) => {
      for (const [digest, key] of keys) {
        if (keyIdOf(digest) !== id) continue;
        const edited = edit(key);
        keys.set(digest, edited);
        return keyRecord(digest, edited);
      }
      return undefined;
    });
  }

  /** Applies an edit to the file's current content. Edits that wait for the lock share one write. */
  async #change<Result>(edit: (keys: Map<string, StoredKey>) => Result): Promise<Result> {
    let result: Result | undefined;
    const batch = (this.#openBatch ??= this.#startBatch());
    batch.edits.push((keys) => {
      result = edit(keys);
    });
    await batch.written;
    return result as Result;
  }

  #startBatch(): EditBatch {
    const edits: EditBatch['edits'] = [];
    const close = (): void => {
      if (this.#openBatch === batch) this.#openBatch = undefined;
    };
    const write = async (): Promise<void> => {
      // Edits of the same turn of the event loop join before the write.
      await Promise.resolve();
      try {
        makePrivateFolderFor(this.path);
        await withFileLock(`${this.path}.lock`, () => {
          close();
          // Not the content that this process read last: another process may have changed the file.
          const previous = readKeyFile(this.path).keys;
          const keys = new Map(previous);
          for (const edit of edits) edit(keys);
          if (keyFileText(keys) !== keyFileText(previous)) writeKeyFile(this.path, keys);
          this.#apply(readKeyFile(this.path));
        });
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        this.#noteDisk(true);
        throw new StoreFull(`${this.path} cannot be written: the disk is full (${errorCode(error)})`);
      }
    };
    const batch: EditBatch = { edits, written: write().finally(close) };
    return batch;
  }

  /** Synchronous, so that it cannot interleave with a change by this process. A stat takes microseconds. */
  #poll(): void {
    this.#polledAt = clock.now();
    if (clock.now() - this.#diskCheckedAt >= DISK_CHECK_INTERVAL_MS) this.#noteDisk(isDiskFullAt(this.path));
    const version = keyFileVersion(this.path);
    try {
      if (version !== this.#version) {
        this.#apply(readKeyFile(this.path));
        this.#warnIfReadable();
      }
      this.#isUnreadable = false;
    } catch (error) {
      const isUnreadable = error instanceof KeyFileUnreadable;
      // What cannot be read now is read at the next poll: it may be a revocation.
      if (!isUnreadable) this.#version = version;
      if (!isUnreadable || !this.#isUnreadable) {
        const text = isUnreadable ? 'the key file cannot be read now' : 'the key file is invalid';
        const reason = error instanceof Error ? error.message : 'unknown';
        this.#log.error({ error: reason }, `${text}: the previous keys stay active`);
      }
      this.#isUnreadable = isUnreadable;
    }
  }

  #noteDisk(isFull: boolean): void {
    this.#diskCheckedAt = clock.now();
    if (isFull === this.#isDiskFull) return;
    this.#isDiskFull = isFull;
    if (isFull) this.#log.error('the disk of DATA_DIR is full: keys cannot be changed, and usage stays in memory');
    else this.#log.info('the disk of DATA_DIR has space again');
  }

  #warnIfReadable(): void {
    if (this.#file.isReadableByOthers) this.#log.warn('other accounts may read the key file: chmod 600 keys.json');
  }

  #apply(file: KeyFile): void {
    const previous = this.#file.keys;
    this.#file = file;
    this.#version = file.version;
    this.#records = recordsOf(file);
    const digests = new Set([...previous.keys(), ...file.keys.keys()]);
    for (const digest of digests) {
      if (JSON.stringify(previous.get(digest)) === JSON.stringify(file.keys.get(digest))) continue;
      for (const listener of this.#listeners) listener(digest);
    }
  }
}

function recordsOf(file: KeyFile): Map<string, KeyRecord> {
  return new Map([...file.keys].map(([digest, key]) => [digest, keyRecord(digest, key)]));
}
