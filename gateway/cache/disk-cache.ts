import { rmSync, statfsSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { clock, type Timer } from '../clock/clock.ts';
import { errorCode, type Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { DurableCacheMetric } from '../metrics/metrics.ts';
import {
  damaged,
  FULL,
  IO_ERROR,
  isLocked,
  openSqlite,
  sqliteCodeOf,
  whenUnlocked,
  type Database,
  type Statement,
} from '../store/open-sqlite.ts';
import { makePrivateFile } from '../store/private-file.ts';
import { StoreError } from '../store/store-error.ts';
import { compress, decompress, isContentError } from './compress-entry.ts';
import { chainKeyOf, DurableCache } from './durable-cache.ts';

/** Entries are gathered for this time, and written in one transaction. */
const GATHER_MS = 20;
/** Bytes of one transaction. The process does nothing else meanwhile. */
const TRANSACTION_BYTES = 256_000;
/** Oldest entries that are removed at a time, and how often in a transaction. */
const REMOVED_AT_ONCE = 20;
const REMOVALS = 25;
/** The keys of the gateway need the rest of the disk more. */
const RESERVED_BYTES = 128_000_000;
const CHECK_INTERVAL_MS = 10_000;
/** Pause after the file was removed. */
const PAUSE_MS = 60_000;
const GROUP_OR_OTHERS_WRITE = 0o022;
/** Errors that do not pass while the gateway runs. */
const lasting = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'];

const schema = `
  CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, checksum INTEGER NOT NULL, json BLOB NOT NULL
  )`;

interface OpenFile {
  readonly database: Database;
  /** Inode of the file: another one may take its name. */
  readonly inode: number;
  readonly get: Statement;
  readonly put: Statement;
  readonly removeOldest: Statement;
  /** Bytes of the entries. */
  readonly used: Statement;
}

interface Waiting {
  readonly key: string;
  readonly json: Buffer;
  readonly written: (isWritten: boolean) => void;
}

/**
 * Holds permanently valid results in `cache.db` under DATA_DIR, an SQLite file, for the gateways and workers of one machine. Above its
 * size, the oldest entries go. The file is removed when the disk has less than 128 MB left, and when it is damaged: results can be
 * requested again. So SQLite does not wait for the disk.
 */
export class DiskCache extends DurableCache {
  readonly kind = 'disk';
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #log: Log;
  readonly #freeBytes: () => number;
  readonly #check: Timer;
  #file: OpenFile | undefined;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  /** End of the pause; Infinity: the cache is closed, or the folder cannot have the file. */
  #pausedUntil = -Infinity;

  /** @param freeBytes of the disk */
  constructor(
    path: string,
    maxBytes: number,
    count: DurableCacheMetric,
    log: Log,
    freeBytes = freeBytesAt(dirname(path)),
  ) {
    super(count);
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#log = log;
    this.#freeBytes = freeBytes;
    this.#check = clock
      .setInterval(() => {
        if (this.#isReplaced) this.#closeFile();
        else if (this.#freeBytes() < RESERVED_BYTES) this.#removeFile('the disk has less than 128 MB left');
      }, CHECK_INTERVAL_MS)
      .unref();
  }

  async get(key: string): Promise<string | Buffer | undefined> {
    const found = await this.read(key);
    const isFound = typeof found === 'object';
    this.count(isFound ? 'found' : found);
    return isFound ? found.json : undefined;
  }

  async read(key: string): Promise<{ json: string | Buffer } | 'miss' | 'failed'> {
    if (!this.isUsable) return 'failed';
    try {
      const row = this.#open().get.get(key) as { checksum: number; json: Uint8Array } | undefined;
      if (row === undefined) return 'miss';
      const bytes = Buffer.from(row.json.buffer, row.json.byteOffset, row.json.length);
      // After a power cut, SQLite may return the row of another key.
      return row.checksum === checksumOf(key, bytes) ? { json: await decompress(bytes) } : 'miss';
    } catch (error) {
      if (isContentError(error)) return 'miss';
      this.#handleFailure(error);
      return 'failed';
    }
  }

  async write(key: string, json: string | Buffer): Promise<boolean> {
    const compressed = await compress(json);
    const bytes = typeof compressed === 'string' ? Buffer.from(compressed) : compressed;
    return new Promise((written) => {
      this.#waiting.push({ key, json: bytes, written });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Bytes of the entries in the file. */
  get bytes(): number {
    try {
      return this.#file === undefined ? 0 : usedBytes(this.#file);
    } catch {
      return 0;
    }
  }

  async close(): Promise<void> {
    clock.clearInterval(this.#check);
    await this.#writing;
    this.#pausedUntil = Infinity;
    this.#closeFile();
  }

  protected get isUsable(): boolean {
    return clock.now() >= this.#pausedUntil;
  }

  async #writeAll(): Promise<void> {
    await clock.sleep(GATHER_MS);
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      const isWritten = await this.#writeBatch(batch);
      for (const { written } of batch) written(isWritten);
      await timeSlicer.next();
    }
    this.#writing = undefined;
  }

  #takeBatch(): readonly Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(({ json }) => (bytes += json.length) > TRANSACTION_BYTES) + 1;
    return this.#waiting.splice(0, end === 0 ? this.#waiting.length : end);
  }

  async #writeBatch(batch: readonly Waiting[]): Promise<boolean> {
    try {
      return await whenUnlocked(() => this.isUsable && this.#transact(batch));
    } catch (error) {
      this.#handleFailure(error);
      return false;
    }
  }

  #transact(batch: readonly Waiting[]): true {
    const file = this.#open();
    const { database, put, removeOldest } = file;
    database.exec('BEGIN IMMEDIATE');
    try {
      for (const { key, json } of batch) put.run(key, checksumOf(key, json), json);
      for (let removals = 0; removals < REMOVALS && usedBytes(file) > this.#maxBytes; removals++)
        removeOldest.run(REMOVED_AT_ONCE);
      database.exec('COMMIT');
      return true;
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }

  #open(): OpenFile {
    return (this.#file ??= openFile(this.#path));
  }

  /** Whether another process has removed the file, or put another one in its place. */
  get #isReplaced(): boolean {
    return this.#file !== undefined && this.#file.inode !== inodeOf(this.#path);
  }

  #handleFailure(error: unknown): void {
    if (isLocked(error)) return;
    const code = sqliteCodeOf(error);
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#isReplaced) this.#closeFile();
    else if (code !== undefined && damaged.includes(code)) this.#removeFile(`it is damaged (${reason})`);
    else if (code === FULL || code === IO_ERROR) this.#removeFile(`it cannot be written (${reason})`);
    else this.#pause(`it cannot be used (${reason})`, isLasting(error) ? Infinity : PAUSE_MS);
  }

  #removeFile(reason: string): void {
    this.#pause(reason, PAUSE_MS);
    removeFile(this.#path);
  }

  #pause(reason: string, ms: number): void {
    this.#closeFile();
    if (this.isUsable) this.#log.warn(`results about final blocks are not stored in ${this.#path}: ${reason}`);
    this.#pausedUntil = Math.max(this.#pausedUntil, clock.now() + ms);
  }

  #closeFile(): void {
    try {
      this.#file?.database.close();
    } catch {
      // It is damaged.
    }
    this.#file = undefined;
  }
}

/**
 * Makes all gateways forget the results of a network, which none finds in the file then.
 * @param slug undefined: of all
 * @returns the number of networks
 * @throws StoreError (rejects with it)
 */
export async function clearDiskCache(path: string, slug = '%'): Promise<number> {
  const clear = (): number => {
    const { database } = openFile(path);
    try {
      return database.prepare('DELETE FROM results WHERE key LIKE ?').run(chainKeyOf(`${slug}:%`)).changes;
    } finally {
      database.close();
    }
  };
  return whenUnlocked(clear).catch((error: unknown) => {
    throw new StoreError(`${path} cannot be used (${error instanceof Error ? error.message : String(error)})`);
  });
}

function removeFile(path: string): void {
  try {
    // SQLite closes its files only when its statements are collected. The disk is free at once.
    for (const name of [path, `${path}-wal`]) truncateSync(name);
  } catch {
    // Another process was first.
  }
  for (const suffix of ['', '-wal', '-shm']) {
    try {
      rmSync(`${path}${suffix}`, { force: true });
    } catch {
      // The next attempt to open it fails, too.
    }
  }
}

function openFile(path: string): OpenFile {
  makePrivateFile(path);
  // Others could add results.
  if (process.platform !== 'win32' && (statSync(path).mode & GROUP_OR_OTHERS_WRITE) !== 0) {
    removeFile(path);
    makePrivateFile(path);
  }
  const database = openSqlite(path);
  try {
    // A power cut may damage the file: then it is removed.
    database.exec(`PRAGMA synchronous = OFF; ${schema}`);
    return {
      database,
      inode: inodeOf(path) ?? 0,
      get: database.prepare('SELECT checksum, json FROM results WHERE key = ?'),
      put: database.prepare('INSERT OR REPLACE INTO results (key, checksum, json) VALUES (?, ?, ?)'),
      removeOldest: database.prepare(
        `DELETE FROM results WHERE id IN (
          SELECT id FROM results WHERE key NOT LIKE '${chainKeyOf('%')}' ORDER BY id LIMIT ?
        )`,
      ),
      used: database.prepare(
        `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
      ),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function checksumOf(key: string, json: Buffer): number {
  return crc32(json, crc32(key));
}

function isLasting(error: unknown): boolean {
  return error instanceof StoreError || lasting.includes(errorCode(error));
}

function usedBytes({ used }: OpenFile): number {
  return (used.get() as { bytes: number }).bytes;
}

function freeBytesAt(folder: string): () => number {
  return () => {
    try {
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize;
    } catch {
      // The folder is made by the first write.
      return Infinity;
    }
  };
}
