import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { isObject } from '../collections/is-object.ts';
import { errorCode } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import {
  BUSY,
  damaged,
  FULL,
  IO_ERROR,
  LOCKED,
  makePrivateFile,
  openSqlite,
  sqliteCodeOf as codeOf,
  type Database,
  type Statement,
} from './open-sqlite.ts';
import { isDiskFull } from './private-file.ts';
import { StoreError, StoreFull } from './store-error.ts';
import type { AddOptions, PutOptions, Store, Sums } from './store.ts';

/** Form of the tables, in `user_version` of the file. */
const VERSION = 1;
const schema = `
  CREATE TABLE records (
    folder TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, expires INTEGER,
    PRIMARY KEY (folder, name)
  ) WITHOUT ROWID;
  CREATE INDEX expiring ON records (expires) WHERE expires IS NOT NULL;
  PRAGMA user_version = ${VERSION};`;

/** Operations in one transaction: some milliseconds, in which the process does nothing else. */
const MAX_BATCH = 50;
/** Names in one response of the file. */
const PAGE = 500;
/** Another process has the file locked for milliseconds. A longer time is an error. */
const LOCKED_TIMEOUT_MS = 5_000;
/** Expired records are removed by this number at a time, each minute. */
const EXPIRED_BATCH = 500;
const EXPIRY_INTERVAL_MS = 60_000;

interface OpenFile {
  readonly database: Database;
  readonly get: Statement;
  readonly scan: Statement;
  readonly names: Statement;
  readonly put: Statement;
  readonly delete: Statement;
  readonly expire: Statement;
}

interface Write {
  /** Whether its result must survive a power cut. Then the process waits for the disk. */
  readonly isLasting: boolean;
  readonly run: (file: OpenFile) => void;
  /** The transaction is written. */
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Stores records and sums in `gatehouse.db` under DATA_DIR, an SQLite file, for the gateways and commands of one machine.
 * SQLite locks, writes, and recovers after a crash. The file is made by the first write. Writes of one turn of the event loop
 * share a transaction.
 */
export class FileStore implements Store {
  readonly isUp = true;
  readonly location: string;
  readonly #path: string;
  #file: OpenFile | undefined;
  readonly #writes: Write[] = [];
  #writing: Promise<void> | undefined;
  #expiresAt = -Infinity;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'gatehouse.db');
    this.location = `in ${this.#path}`;
  }

  waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  get(folder: string, name: string): Promise<string | undefined> {
    return this.#read(undefined, (file) => textOf(file, folder, name));
  }

  scan(folder: string): Promise<ReadonlyMap<string, string>> {
    return this.#read(new Map<string, string>(), (file) => {
      const rows = file.scan.all(folder, clock.unixMs()) as { name: string; text: string }[];
      return new Map(rows.map(({ name, text }) => [name, text]));
    });
  }

  put(folder: string, name: string, text: string, { expected, ttlMs }: PutOptions = {}): Promise<boolean> {
    return this.#write(ttlMs === undefined, (file) => {
      if (expected !== undefined && (textOf(file, folder, name) ?? null) !== expected) return false;
      file.put.run(folder, name, text, ttlMs === undefined ? null : clock.unixMs() + ttlMs);
      return true;
    });
  }

  delete(folder: string, name: string): Promise<boolean> {
    if (!existsSync(this.#path)) return Promise.resolve(false);
    return this.#write(true, (file) => file.delete.run(folder, name, clock.unixMs()).changes > 0);
  }

  /** One that failed was not done, so its number is not stored. */
  add(folder: string, name: string, deltas: Sums, { ttlMs }: AddOptions): Promise<Sums | undefined> {
    return this.#write(false, (file) => {
      const sums = { ...sumsIn(textOf(file, folder, name)) };
      const changed: Record<string, number> = {};
      for (const [field, delta] of Object.entries(deltas)) changed[field] = sums[field] = (sums[field] ?? 0) + delta;
      file.put.run(folder, name, JSON.stringify(sums), clock.unixMs() + ttlMs);
      return changed;
    });
  }

  async sums(folder: string, names: readonly string[]): Promise<readonly Sums[]> {
    const found: Sums[] = [];
    for (const name of names) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      found.push(sumsIn(await this.get(folder, name)));
    }
    return found;
  }

  async *names(folder: string): AsyncIterable<string> {
    let page: readonly { readonly name: string }[] = [{ name: '' }];
    for (let after = page.at(-1); after !== undefined; after = page.at(-1)) {
      const { name } = after;
      page = await this.#read([], (file) => file.names.all(folder, clock.unixMs(), name, PAGE) as { name: string }[]);
      for (const each of page) yield each.name;
    }
  }

  async close(): Promise<void> {
    await this.#writing;
    if (this.#file === undefined) return;
    const { database } = this.#file;
    this.#file = undefined;
    try {
      // So that a copy of `gatehouse.db` alone is complete.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // The disk is full, or another process writes: the file beside it has the rest.
    }
    database.close();
  }

  /** @param none result if there is no file */
  #read<Result>(none: Result, work: (file: OpenFile) => Result): Promise<Result> {
    return this.#unlocked(() => {
      if (this.#file === undefined && !existsSync(this.#path)) return none;
      return work((this.#file ??= openFile(this.#path)));
    });
  }

  async #write<Result>(isLasting: boolean, work: (file: OpenFile) => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      let result: Result;
      this.#writes.push({
        isLasting,
        run: (file) => (result = work(file)),
        done: () => {
          resolve(result);
        },
        failed: reject,
      });
      this.#writing ??= this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    // Writes of the same turn of the event loop join before the transaction.
    await Promise.resolve();
    while (this.#writes.length > 0) {
      const batch = this.#writes.splice(0, MAX_BATCH);
      try {
        await this.#unlocked(() => {
          this.#transact(batch);
        });
        for (const { done } of batch) done();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
      await timeSlicer.next();
    }
    // In the same turn as the check of the loop: a write that comes later begins the next one.
    this.#writing = undefined;
  }

  #transact(batch: readonly Write[]): void {
    const file = (this.#file ??= makeFile(this.#path));
    const isLasting = batch.some((write) => write.isLasting);
    // In the mode NORMAL, a power cut may undo the last transactions; SIGKILL does not.
    file.database.exec(`PRAGMA synchronous = ${isLasting ? 'FULL' : 'NORMAL'}; BEGIN IMMEDIATE`);
    try {
      for (const write of batch) write.run(file);
      this.#removeExpired(file);
      file.database.exec('COMMIT');
    } catch (error) {
      if (file.database.isTransaction) file.database.exec('ROLLBACK');
      throw error;
    }
  }

  #removeExpired(file: OpenFile): void {
    if (clock.now() < this.#expiresAt) return;
    const { changes } = file.expire.run(clock.unixMs(), EXPIRED_BATCH);
    if (changes < EXPIRED_BATCH) this.#expiresAt = clock.now() + EXPIRY_INTERVAL_MS;
  }

  /** Waits while another process has the file locked, without blocking this one. @throws StoreError */
  async #unlocked<Result>(work: () => Result): Promise<Result> {
    const deadline = clock.now() + LOCKED_TIMEOUT_MS;
    for (;;) {
      try {
        return work();
      } catch (error) {
        const code = codeOf(error);
        if ((code !== BUSY && code !== LOCKED) || clock.now() > deadline) throw storeError(this.#path, error);
        await clock.sleep(2 + random.number() * 10);
      }
    }
  }
}

function makeFile(path: string): OpenFile {
  makePrivateFile(path);
  return openFile(path);
}

function openFile(path: string): OpenFile {
  const database = openSqlite(path);
  try {
    const version = database.prepare('PRAGMA user_version');
    if (versionIn(version) < VERSION) {
      database.exec('BEGIN IMMEDIATE');
      // Another process may have been first.
      if (versionIn(version) < VERSION) database.exec(schema);
      database.exec('COMMIT');
    }
    if (versionIn(version) > VERSION)
      throw new StoreError(`${path} is of a newer version of Gatehouse: install that version, or move the file away`);
    const valid = '(expires IS NULL OR expires > ?)';
    return {
      database,
      get: database.prepare(`SELECT text FROM records WHERE folder = ? AND name = ? AND ${valid}`),
      scan: database.prepare(`SELECT name, text FROM records WHERE folder = ? AND ${valid}`),
      names: database.prepare(
        `SELECT name FROM records WHERE folder = ? AND ${valid} AND name > ? ORDER BY name LIMIT ?`,
      ),
      put: database.prepare('INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)'),
      delete: database.prepare(`DELETE FROM records WHERE folder = ? AND name = ? AND ${valid}`),
      expire: database.prepare(
        'DELETE FROM records WHERE (folder, name) IN (SELECT folder, name FROM records WHERE expires < ? LIMIT ?)',
      ),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function versionIn(statement: Statement): number {
  return (statement.get() as { user_version: number }).user_version;
}

function textOf(file: OpenFile, folder: string, name: string): string | undefined {
  return (file.get.get(folder, name, clock.unixMs()) as { text: string } | undefined)?.text;
}

/** An operator may have written something else by hand: then the sums begin at 0. */
function sumsIn(text = '{}'): Sums {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as Sums) : {};
  } catch {
    return {};
  }
}

function storeError(path: string, error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  const { systemErrno } = error as { systemErrno?: number };
  if (code === FULL || isDiskFull(error) || (code === IO_ERROR && systemErrno === 28))
    return new StoreFull(`${path} cannot be written: the disk is full`);
  if (code === undefined) return new StoreError(`${path} cannot be opened (${errorCode(error)})`);
  if (damaged.includes(code))
    return new StoreError(`${path} is damaged (${text}): restore a backup, or move the file away`);
  return new StoreError(`${path} cannot be used (${text})`);
}
