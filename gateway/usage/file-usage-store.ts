import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf, type Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { withFileLock } from '../auth/stores/file-lock.ts';
import { makePrivateFolderFor } from '../auth/stores/private-file.ts';
import { appendUsage, compactUsage, usageByKey, usageOf } from './usage-file.ts';
import {
  addAmounts,
  byDayAndMethod,
  lastDays,
  newAmounts,
  rowOf,
  usageRetentionDays,
  type Amounts,
  type ListedUsageStore,
  type UsageBatch,
  type UsageDay,
  type UsageRow,
} from './usage-store.ts';

/** A file is compacted when its size exceeds the last compacted size times this factor, plus this number of bytes. */
const maxGrowthFactor = 4;
const minGrowthBytes = 100_000;

/**
 * Stores usage in files under DATA_DIR: `usage/<YYYY-MM-DD>/<digit>.txt`, where the digit is the first of the key id.
 * Compacting a file blocks calls, for some milliseconds with thousands of keys; so the keys of a day have 16 files.
 */
export class FileUsageStore implements ListedUsageStore {
  readonly isUp = true;
  readonly #folder: string;
  readonly #log: Log;
  /** Size in bytes of each file after its last compaction, by path. */
  readonly #compactedBytes = new Map<string, number>();
  #removedBefore = '';
  #hasFailed = false;

  constructor(dataDir: string, log: Log) {
    this.#folder = join(dataDir, 'usage');
    this.#log = log;
  }

  /** A batch is added as a whole or not at all, so its number is not stored. */
  async add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]> {
    try {
      const lock = join(this.#folder, 'lock');
      makePrivateFolderFor(lock);
      // Locked, because two gateways may share the folder.
      const failed = await withFileLock(lock, () => this.#addAll(batches));
      this.#removeExpired();
      this.#hasFailed = failed.length > 0;
      return failed;
    } catch (error) {
      this.#logFailure(error);
      return batches;
    }
  }

  read(key: string, days: readonly string[]): Promise<UsageRow[]> {
    const rows = days.flatMap((day) =>
      [...usageOf(key, this.#pathFor(key, day))].map(([place, amounts]) => rowOf(day, place, amounts)),
    );
    return Promise.resolve(rows.sort(byDayAndMethod));
  }

  /** Reads each file once for all of its keys. */
  async sum(keys: readonly string[], days: readonly string[]): Promise<Amounts[]> {
    const sums = new Map(keys.map((key) => [key, newAmounts()]));
    for (const path of new Set(days.flatMap((day) => keys.map((key) => this.#pathFor(key, day))))) {
      await timeSlicer.next();
      for (const [key, amounts] of usageByKey(path)) {
        const sum = sums.get(key);
        if (sum !== undefined) for (const each of amounts) addAmounts(sum, each);
      }
    }
    return keys.map((key) => sums.get(key) ?? newAmounts());
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- files are read synchronously
  async *entries(): AsyncIterable<UsageDay> {
    for (const day of existing(this.#folder).filter(isDay)) {
      for (const file of existing(join(this.#folder, day))) {
        for (const [key, amounts] of usageByKey(join(this.#folder, day, file))) yield { key, day, amounts };
      }
    }
  }

  waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #addAll(batches: readonly UsageBatch[]): readonly UsageBatch[] {
    const failed: UsageBatch[] = [];
    let longest: { readonly path: string; readonly bytes: number } | undefined;
    for (const [path, own] of this.#byPath(batches)) {
      try {
        const bytes = appendUsage(path, own);
        const isDue = bytes > maxGrowthFactor * (this.#compactedBytes.get(path) ?? 0) + minGrowthBytes;
        if (isDue && bytes > (longest?.bytes ?? 0)) longest = { path, bytes };
      } catch (error) {
        failed.push(...own);
        this.#logFailure(error);
      }
    }
    // Only the longest file, because compacting blocks calls.
    if (longest !== undefined) this.#compact(longest.path, longest.bytes);
    return failed;
  }

  /** A failure is only logged: the batches are already appended. */
  #compact(path: string, bytes: number): void {
    try {
      this.#compactedBytes.set(path, compactUsage(path));
    } catch (error) {
      // The next attempt follows after the same growth.
      this.#compactedBytes.set(path, bytes);
      this.#log.warn(causeOf(error), 'a usage file cannot be compacted: it grows');
    }
  }

  #byPath(batches: readonly UsageBatch[]): Map<string, UsageBatch[]> {
    const found = new Map<string, UsageBatch[]>();
    for (const batch of batches) {
      const path = this.#pathFor(batch.key, batch.day);
      const own = found.get(path);
      if (own === undefined) found.set(path, [batch]);
      else own.push(batch);
    }
    return found;
  }

  #pathFor(key: string, day: string): string {
    return join(this.#folder, day, `${key.charAt(0)}.txt`);
  }

  #logFailure(error: unknown): void {
    if (!this.#hasFailed) this.#log.warn(causeOf(error), 'usage cannot be written: it stays in memory');
    this.#hasFailed = true;
  }

  #removeExpired(): void {
    const [oldest = ''] = lastDays(usageRetentionDays);
    if (this.#removedBefore === oldest) return;
    this.#removedBefore = oldest;
    this.#compactedBytes.clear();
    try {
      for (const name of readdirSync(this.#folder)) {
        if (!isDay(name) || name >= oldest) continue;
        rmSync(join(this.#folder, name), { recursive: true, force: true });
      }
    } catch (error) {
      this.#log.warn(causeOf(error), 'expired usage files cannot be removed');
    }
  }
}

function isDay(name: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(name);
}

/** Names in a folder; none if it does not exist. */
function existing(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
