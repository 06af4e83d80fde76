import { existsSync, rmSync, statfsSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { clock, type Timer } from '../clock/clock.ts';
import type { Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import type { DurableCacheMetric } from '../metrics/cache-metrics.ts';
import {
  BUSY,
  damaged,
  LOCKED,
  makePrivateFile,
  openSqlite,
  sqliteCodeOf,
  type Database,
  type Statement,
} from '../store/open-sqlite.ts';
import { compress, decompress, isContentError } from './compress-entry.ts';
import { chainKeyOf, MAX_ENTRY_BYTES, MAX_PENDING_BYTES, type DurableCache } from './durable-cache.ts';

/** Entries are gathered for this time, and written in one transaction. */
const GATHER_MS = 20;
/** Bytes of one transaction. The process does nothing else meanwhile. */
const TRANSACTION_BYTES = 256_000;
/** Oldest entries that are removed at a time. */
const REMOVED_AT_ONCE = 200;
/** The keys of the gateway need the rest of the disk more. */
const RESERVED_BYTES = 128_000_000;
const RESERVE_CHECK_MS = 10_000;
/** After the file was removed, because the disk is full or the file damaged. */
const PAUSE_MS = 60_000;

const schema = `
  CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, json BLOB NOT NULL)`;

interface OpenFile {
  readonly database: Database;
  readonly get: Statement;
  readonly put: Statement;
  readonly removeOldest: Statement;
}

interface Waiting {
  readonly key: string;
  readonly json: string | Buffer;
  readonly written: (isWritten: boolean) => void;
}

/**
 * Holds permanently valid results in `cache.db` under DATA_DIR, an SQLite file, for the gateways and workers of one machine. Above its
 * size, the oldest entries go. The file is removed when the disk has less than 128 MB left, and when it is damaged: results can be
 * requested again. So SQLite does not wait for the disk.
 */
export class DiskCache implements DurableCache {
  readonly kind = 'disk';
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #count: DurableCacheMetric;
  readonly #log: Log;
  readonly #freeBytes: () => number;
  readonly #reserveCheck: Timer;
  #file: OpenFile | undefined;
  #waiting: Waiting[] = [];
  #pendingBytes = 0;
  #writing: Promise<void> | undefined;
  #pausedUntil = -Infinity;

  /** @param freeBytes of the disk */
  constructor(
    path: string,
    maxBytes: number,
    count: DurableCacheMetric,
    log: Log,
    freeBytes = freeBytesAt(dirname(path)),
  ) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#count = count;
    this.#log = log;
    this.#freeBytes = freeBytes;
    this.#reserveCheck = clock
      .setInterval(() => {
        this.#leaveReserve();
      }, RESERVE_CHECK_MS)
      .unref();
  }

  async get(key: string): Promise<string | Buffer | undefined> {
    const found = await this.read(key);
    const isFound = typeof found === 'object';
    this.#count(isFound ? 'found' : found);
    return isFound ? found.json : undefined;
  }

  set(key: string, json: string | Buffer): void {
    const { length } = json;
    if (length > MAX_ENTRY_BYTES || this.#pendingBytes + length > MAX_PENDING_BYTES || !this.#isUsable) {
      this.#count('not-written');
      return;
    }
    this.#pendingBytes += length;
    void this.write(key, json).then((isWritten) => {
      this.#pendingBytes -= length;
      this.#count(isWritten ? 'written' : 'not-written');
    });
  }

  async read(key: string): Promise<{ json: string | Buffer } | 'miss' | 'failed'> {
    if (!this.#isUsable) return 'failed';
    try {
      const row = this.#open().get.get(key) as { json: Uint8Array } | undefined;
      return row === undefined
        ? 'miss'
        : { json: await decompress(Buffer.from(row.json.buffer, row.json.byteOffset, row.json.length)) };
    } catch (error) {
      if (!isContentError(error)) this.#handleFailure(error);
      return 'failed';
    }
  }

  async write(key: string, json: string | Buffer): Promise<boolean> {
    const compressed = await compress(json);
    return new Promise((written) => {
      this.#waiting.push({ key, json: compressed, written });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Bytes of the entries in the file. */
  get bytes(): number {
    return this.#file === undefined ? 0 : usedBytes(this.#file.database);
  }

  async close(): Promise<void> {
    clock.clearInterval(this.#reserveCheck);
    await this.#writing;
    this.#closeFile();
  }

  get #isUsable(): boolean {
    return clock.now() >= this.#pausedUntil;
  }

  async #writeAll(): Promise<void> {
    await clock.sleep(GATHER_MS);
    while (this.#waiting.length > 0) {
      this.#writeSome();
      await timeSlicer.next();
    }
    this.#writing = undefined;
  }

  /** One transaction. */
  #writeSome(): void {
    const batch: Waiting[] = [];
    for (let bytes = 0; bytes < TRANSACTION_BYTES && this.#waiting.length > 0;) {
      const next = this.#waiting.shift() as Waiting;
      batch.push(next);
      bytes += next.json.length;
    }
    const isWritten = this.#isUsable && this.#transact(batch);
    for (const { written } of batch) written(isWritten);
  }

  #transact(batch: readonly Waiting[]): boolean {
    try {
      const { database, put, removeOldest } = this.#open();
      database.exec('BEGIN IMMEDIATE');
      try {
        for (const { key, json } of batch) put.run(key, typeof json === 'string' ? Buffer.from(json) : json);
        if (usedBytes(database) > this.#maxBytes) removeOldest.run(Math.max(REMOVED_AT_ONCE, batch.length));
        database.exec('COMMIT');
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
      return true;
    } catch (error) {
      this.#handleFailure(error);
      return false;
    }
  }

  #open(): OpenFile {
    return (this.#file ??= openFile(this.#path));
  }

  #leaveReserve(): void {
    if (this.#freeBytes() < RESERVED_BYTES) this.#removeFile('the disk has less than 128 MB left');
  }

  #handleFailure(error: unknown): void {
    const code = sqliteCodeOf(error);
    // Another process writes.
    if (code === BUSY || code === LOCKED) return;
    const reason = error instanceof Error ? error.message : String(error);
    if (code !== undefined && damaged.includes(code)) this.#removeFile(`it is damaged (${reason})`);
    // A folder that is not writable stays so.
    else this.#pause(`it cannot be used (${reason})`, Infinity);
  }

  #removeFile(reason: string): void {
    this.#pause(reason);
    removeCacheFile(this.#path);
  }

  #pause(reason: string, ms = PAUSE_MS): void {
    this.#closeFile();
    if (this.#isUsable) this.#log.warn(`results about final blocks are not stored in ${this.#path}: ${reason}`);
    this.#pausedUntil = clock.now() + ms;
  }

  #closeFile(): void {
    this.#file?.database.close();
    this.#file = undefined;
  }
}

/** Removes the results of all networks. */
export function removeCacheFile(path: string): void {
  for (const name of [path, `${path}-wal`]) {
    // SQLite closes its files only when its statements are collected. The disk is free at once.
    if (existsSync(name)) truncateSync(name);
  }
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}

/** @param slug of the network; undefined: all @returns the number of networks whose results were removed */
export function clearDiskCache(path: string, slug = '%'): number {
  const { database } = openFile(path);
  try {
    const remove = database.prepare('DELETE FROM results WHERE key LIKE ?');
    // The records of chains first: without them, no gateway finds the results.
    const networks = remove.run(chainKeyOf(`${slug}:%`)).changes;
    remove.run(`gatehouse:answer:%:${slug}:%`);
    return networks;
  } finally {
    database.close();
  }
}

function openFile(path: string): OpenFile {
  makePrivateFile(path);
  const database = openSqlite(path);
  try {
    // A power cut may damage the file: then it is removed.
    database.exec(`PRAGMA synchronous = OFF; ${schema}`);
    return {
      database,
      get: database.prepare('SELECT json FROM results WHERE key = ?'),
      put: database.prepare('INSERT OR REPLACE INTO results (key, json) VALUES (?, ?)'),
      removeOldest: database.prepare('DELETE FROM results WHERE id IN (SELECT id FROM results ORDER BY id LIMIT ?)'),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function usedBytes(database: Database): number {
  const value = (name: string): number =>
    Object.values(database.prepare(`PRAGMA ${name}`).get() as object)[0] as number;
  return (value('page_count') - value('freelist_count')) * value('page_size');
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
