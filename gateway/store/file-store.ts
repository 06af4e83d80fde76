import { existsSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clock, type Timer } from '../clock/clock.ts';
import { jsonObjectIn } from '../collections/is-object.ts';
import { errorCode, type Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import {
  damaged,
  FULL,
  IO_ERROR,
  openSqlite,
  sqliteCodeOf as codeOf,
  whenUnlocked,
  type Statement,
} from './open-sqlite.ts';
import { appendPrivateFile, isDiskFull, isDiskFullAt, makePrivateFile } from './private-file.ts';
import { StoreError, StoreFull } from './store-error.ts';
import type { AddOptions, ChangeListener, PutOptions, Store, Sums } from './store.ts';

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
/** Expired records are removed by this number at a time, each minute. */
const EXPIRED_BATCH = 500;
const EXPIRY_INTERVAL_MS = 60_000;

/** Folder of how often the records of a folder were changed, those with a time to live apart. */
const CHANGES = 'changes';
/** Interval at which changes by other processes are looked for: a file has no subscriptions. */
const WATCH_INTERVAL_MS = 500;
/** Free space of the disk below which sums are rejected, so that keys can still be created. */
const MIN_FREE_BYTES = 2 ** 20;
const DISK_CHECK_INTERVAL_MS = 5_000;
/** Size of a file beside the database that is removed for an urgent record when the disk is full. */
const RESERVE_BYTES = 2 ** 18;
const GROUP_OR_OTHERS_WRITE = 0o022;
const GROUP_OR_OTHERS_READ = 0o044;

type OpenFile = ReturnType<typeof openFile>;

interface Write {
  /** Whether its result must survive a power cut. Then the process waits for the disk. */
  readonly isLasting: boolean;
  readonly isUrgent: boolean;
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
  readonly kind = 'file';
  readonly isUp = true;
  readonly isConverting = false;
  readonly location: string;
  readonly #path: string;
  readonly #log: Log;
  #file: OpenFile | undefined;
  readonly #writes: Write[] = [];
  #writing: Promise<void> | undefined;
  #expiresAt = -Infinity;
  /** Listeners of folders, with the number of changes when each was called last. */
  readonly #watched: { readonly folder: string; readonly listener: ChangeListener; changes: string | undefined }[] = [];
  #timer: Timer | undefined;
  /** SQLite's number of the content, which rises with each transaction of another process. */
  #dataVersion: unknown;
  #isReadable = true;
  #isFull = false;
  #diskCheckedAt = -Infinity;

  constructor(dataDir: string, log: Log) {
    this.#path = join(dataDir, 'gatehouse.db');
    this.location = `in ${this.#path}`;
    this.#log = log;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get isWatching(): boolean {
    return this.#timer !== undefined && this.#isReadable;
  }

  waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  get(folder: string, name: string): Promise<string | undefined> {
    return this.#read(undefined, (file) => textOf(file, folder, name));
  }

  scan(folder: string, prefix = ''): Promise<ReadonlyMap<string, string>> {
    return this.#read(new Map<string, string>(), (file) => {
      const rows = file.scan.all(folder, clock.unixMs(), prefix, prefix, prefix) as { name: string; text: string }[];
      return new Map(rows.map(({ name, text }) => [name, text]));
    });
  }

  put(folder: string, name: string, text: string, options: PutOptions = {}): Promise<boolean> {
    const { expected, ttlMs, isUrgent } = options;
    const change = (file: OpenFile): boolean => {
      if (expected !== undefined && (textOf(file, folder, name) ?? null) !== expected) return false;
      file.put.run(folder, name, text, ttlMs === undefined ? null : clock.unixMs() + ttlMs);
      return true;
    };
    return ttlMs === undefined ? this.#change(folder, name, change, isUrgent) : this.#write({}, change);
  }

  async delete(folder: string, name: string): Promise<boolean> {
    if (!existsSync(this.#path)) return false;
    return this.#change(folder, name, (file) => file.delete.run(folder, name, clock.unixMs()).changes > 0, true);
  }

  /** Adds deltas to sums. An addition that failed was not done, so its number is not stored. */
  async add(folder: string, name: string, deltas: Sums, { ttlMs }: AddOptions): Promise<Sums | undefined> {
    if (this.#hasLittleSpace()) throw new StoreFull(`${this.#path} is not written: the disk is full`);
    return this.#write({}, (file) => {
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
      await timeSlicer.next();
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

  watch(folder: string, listener: ChangeListener): void {
    this.#watched.push({ folder, listener, changes: undefined });
    this.#timer ??= clock.setInterval(() => void this.#poll(), WATCH_INTERVAL_MS).unref();
  }

  /** Appends to `<journal>.jsonl` beside the file, without `gatehouse:` in its name: one JSON object per line. */
  append(journal: string, entry: Readonly<Record<string, string>>): Promise<void> {
    const path = join(dirname(this.#path), `${journal.replace('gatehouse:', '')}.jsonl`);
    return this.#unlocked(true, () => {
      appendPrivateFile(path, `${JSON.stringify(entry)}\n`);
    });
  }

  async close(): Promise<void> {
    clock.clearInterval(this.#timer);
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
    return this.#unlocked(true, () => {
      if (this.#file === undefined && !existsSync(this.#path)) return none;
      return work((this.#file ??= openFile(this.#path, this.#log)));
    });
  }

  /** Changes a lasting record, counts that for other processes, and reports it in this one. */
  async #change(folder: string, name: string, change: (file: OpenFile) => boolean, isUrgent = false): Promise<boolean> {
    const isChanged = await this.#write({ isLasting: true, isUrgent }, (file) => {
      if (!change(file)) return false;
      file.put.run(CHANGES, folder, String(Number(textOf(file, CHANGES, folder) ?? 0) + 1), null);
      return true;
    });
    if (isChanged) for (const each of this.#watched) if (each.folder === folder) each.listener(name);
    return isChanged;
  }

  /** Poll for changes of other processes. Never rejects. */
  async #poll(): Promise<void> {
    this.#hasLittleSpace();
    try {
      await this.#read(undefined, (file) => {
        const { data_version: version } = file.dataVersion.get() as { data_version: number };
        if (version === this.#dataVersion) return;
        this.#dataVersion = version;
        for (const watched of this.#watched) {
          const changes = textOf(file, CHANGES, watched.folder);
          if (changes === watched.changes) continue;
          watched.changes = changes;
          watched.listener(undefined);
        }
      });
      this.#isReadable = true;
    } catch (error) {
      if (this.#isReadable) this.#log.error({ error: (error as Error).message }, 'the store cannot be read now');
      this.#isReadable = false;
    }
  }

  async #write<Result>(
    { isLasting = false, isUrgent = false }: Partial<Pick<Write, 'isLasting' | 'isUrgent'>>,
    work: (file: OpenFile) => Result,
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      let result: Result;
      this.#writes.push({
        isLasting,
        isUrgent,
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
        const isUrgent = batch.some((write) => write.isUrgent);
        await this.#unlocked(isUrgent, () => {
          this.#transact(batch);
        });
        this.#hasLittleSpace();
        for (const { done } of batch) done();
      } catch (error) {
        if (error instanceof StoreFull) this.#noteDisk(true);
        for (const { failed } of batch) failed(error);
      }
      await timeSlicer.next();
    }
    // In the same turn as the check of the loop: a write that comes later begins the next one.
    this.#writing = undefined;
  }

  #transact(batch: readonly Write[]): void {
    if (this.#file === undefined) makePrivateFile(this.#path);
    const file = (this.#file ??= openFile(this.#path, this.#log));
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

  /**
   * Waits while another process has the file locked, without blocking this one.
   * @param mayUseReserve whether space is freed for the work if the disk is full
   * @throws StoreError
   */
  async #unlocked<Result>(mayUseReserve: boolean, work: () => Result): Promise<Result> {
    for (;;) {
      try {
        return await whenUnlocked(work);
      } catch (error) {
        const reason = storeError(this.#path, error);
        if (!(reason instanceof StoreFull && mayUseReserve && this.#freeReserve())) throw reason;
      }
    }
  }

  /** Checks the disk at intervals. Free blocks do not show that a quota is used up: after a failure, a block is written. */
  #hasLittleSpace(): boolean {
    if (clock.now() - this.#diskCheckedAt < DISK_CHECK_INTERVAL_MS) return this.#isFull;
    this.#diskCheckedAt = clock.now();
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#path));
      this.#noteDisk(bavail * bsize < MIN_FREE_BYTES || (this.#isFull && isDiskFullAt(this.#path)));
      if (!this.#isFull && this.#file !== undefined && !existsSync(this.#reserve))
        appendPrivateFile(this.#reserve, '\0'.repeat(RESERVE_BYTES));
    } catch {
      // The folder does not exist yet, or has no space for the reserve.
    }
    return this.#isFull;
  }

  #noteDisk(isFull: boolean): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    if (isFull) this.#log.error('the disk of DATA_DIR is full: usage stays in memory, and soon keys cannot be created');
    else this.#log.info('the disk of DATA_DIR has space again');
  }

  get #reserve(): string {
    return `${this.#path}-reserve`;
  }

  #freeReserve(): boolean {
    if (!existsSync(this.#reserve)) return false;
    rmSync(this.#reserve, { force: true });
    return true;
  }
}

/** The database with its statements. @throws StoreError */
function openFile(path: string, log: Log) {
  const mode = process.platform === 'win32' ? 0 : statSync(path).mode & 0o777;
  // Others could add keys.
  if ((mode & GROUP_OR_OTHERS_WRITE) !== 0)
    throw new StoreError(`${path} may be written by other accounts (mode ${mode.toString(8)}): chmod 600 it`);
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
    const file = {
      database,
      get: database.prepare(`SELECT text FROM records WHERE folder = ? AND name = ? AND ${valid}`),
      scan: database.prepare(
        `SELECT name, text FROM records WHERE folder = ? AND ${valid} AND name >= ? AND substr(name, 1, length(?)) = ?`,
      ),
      names: database.prepare(
        `SELECT name FROM records WHERE folder = ? AND ${valid} AND name > ? ORDER BY name LIMIT ?`,
      ),
      put: database.prepare('INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)'),
      delete: database.prepare(`DELETE FROM records WHERE folder = ? AND name = ? AND ${valid}`),
      expire: database.prepare(
        'DELETE FROM records WHERE (folder, name) IN (SELECT folder, name FROM records WHERE expires < ? LIMIT ?)',
      ),
      dataVersion: database.prepare('PRAGMA data_version'),
    };
    // Once: a file that cannot be opened is tried again and again.
    if ((mode & GROUP_OR_OTHERS_READ) !== 0) log.warn('other accounts may read keys and usage: chmod 600 gatehouse.db');
    return file;
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
  return (jsonObjectIn(text) ?? {}) as Sums;
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
