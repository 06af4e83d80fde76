import type * as Sqlite from '@photostructure/sqlite';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { clock } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { loadPackage } from '../config/load-package.ts';
import { StoreError } from './store-error.ts';

export type Database = Sqlite.DatabaseSyncInstance;
export type Statement = Sqlite.StatementSyncInstance;

/** `f_type` of network file systems: SQLite's shared memory works on one machine only, and their locks are unreliable. */
const networkFileSystems: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
};

/** Opens a file of SQLite with a write-ahead log. @throws StoreError for a network file system; Error of SQLite */
export function openSqlite(path: string): Database {
  const { type } = statfsSync(dirname(path));
  const network = networkFileSystems[type];
  if (network !== undefined)
    throw new StoreError(`${path} is on ${network}: set DATA_DIR to a local disk, or REDIS_URL to a Redis`);
  const { DatabaseSync } = loadPackage('@photostructure/sqlite') as typeof Sqlite;
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = WAL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Primary result code of SQLite (https://sqlite.org/rescode.html); undefined: the error is another one. */
export function sqliteCodeOf(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}

/** Result codes. */
const BUSY = 5;
const LOCKED = 6;
export const IO_ERROR = 10;
export const FULL = 13;
export const damaged = [11, 26];

/** Another process has the file locked for milliseconds. A longer time is an error. */
const LOCKED_TIMEOUT_MS = 5_000;

export function isLocked(error: unknown): boolean {
  const code = sqliteCodeOf(error);
  return code === BUSY || code === LOCKED;
}

/** Repeats work while another process has the file locked, without blocking this one. @throws the error of `work` (rejects with it) */
export async function whenUnlocked<Result>(work: () => Result): Promise<Result> {
  const deadline = clock.now() + LOCKED_TIMEOUT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || clock.now() > deadline) throw error;
    }
    await clock.sleep(2 + random.number() * 10);
  }
}
