import type { RedisMemory } from '../redis/memory.ts';

/** Sums by field. Fields that were never added to are absent. */
export type Sums = Readonly<Record<string, number>>;

export interface PutOptions {
  /** The text that the record must have now; null: there must be none. Undefined: any. */
  readonly expected?: string | null | undefined;
  /**
   * Lifetime of records that are put again and again: one may be removed when it was not put for this long, and is removed when no
   * record of its folder was.
   */
  readonly ttlMs?: number;
  /** Mark of a record that ends access: it is put also when the store is full. */
  readonly isUrgent?: boolean;
}

/** Listener for the name of a record that was put or deleted; undefined: any record of the folder may have changed. */
export type ChangeListener = (name: string | undefined) => void;

export interface AddOptions {
  /** The sums are removed when nothing was added to them for this long. */
  readonly ttlMs: number;
  /** Rises with each `add` of this store to these sums, so that one that is repeated after a failure is added once. */
  readonly number: number;
}

/**
 * Store of what outlives a process, for all gateways: records, which are texts, and sums. Each has a folder, such as `gatehouse:drains`,
 * and a name; a folder has either. An operation is done as a whole or not at all, and its promise resolves when SIGKILL cannot undo it. The
 * promises of a store that fails are rejected with a StoreError.
 */
export interface Store {
  readonly kind: 'redis' | 'file';
  /** Place of the store, for operators: `in Redis (REDIS_URL)`. */
  readonly location: string;
  /** Whether an operation can succeed now. */
  readonly isUp: boolean;
  /** Whether its disk is full: then it rejects sums, and soon records. Redis reports that it is full with each rejected operation. */
  readonly isFull: boolean;
  /** Whether `watch` reports each change within a second. */
  readonly isWatching: boolean;
  /** Whether records of a former version are not in their folder yet: one that is not found may exist. */
  readonly isConverting: boolean;
  /** How full its memory is; undefined: its place is a disk. */
  readonly readMemory?: () => Promise<RedisMemory>;
  /** Waits until the store is up, and reports changes if it is watched, at most `timeoutMs`. Never rejects. */
  waitUntilReady(timeoutMs: number): Promise<void>;
  get(folder: string, name: string): Promise<string | undefined>;
  /** The records of a folder by name. @param prefix of their names, letters and digits. Default: all */
  scan(folder: string, prefix?: string): Promise<ReadonlyMap<string, string>>;
  /** @returns whether the record had the expected text; else nothing is changed */
  put(folder: string, name: string, text: string, options?: PutOptions): Promise<boolean>;
  /** @returns whether there was a record */
  delete(folder: string, name: string): Promise<boolean>;
  /** @returns the new sums of the given fields; undefined: they were added before */
  add(folder: string, name: string, deltas: Sums, options: AddOptions): Promise<Sums | undefined>;
  /** The sums of each name, in their order. */
  sums(folder: string, names: readonly string[]): Promise<readonly Sums[]>;
  /** The names of all sums of a folder. One that is added meanwhile may be missing; one may come twice. */
  names(folder: string): AsyncIterable<string>;
  /**
   * Reports the records without a time to live that any process puts or deletes, from now on. The folders of one store are watched
   * from the same turn of the event loop.
   */
  watch(folder: string, listener: ChangeListener): void;
  /** Appends an entry to a journal, such as `gatehouse:audit`, which no gateway reads: the last 10,000 in Redis, all in a file. */
  append(journal: string, entry: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}
