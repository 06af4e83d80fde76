import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf, type Log } from '../config/log.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { withFileLock } from '../auth/stores/file-lock.ts';
import { makePrivateFolderFor } from '../store/private-file.ts';
import { appendUsage, compactUsage, linesOf, usageByKey, usageOf } from './usage-file.ts';
import {
  addOnDay,
  byDayAndMethod,
  lastDays,
  newAmounts,
  rowOf,
  USAGE_RETENTION_DAYS,
  type ListedUsageStore,
  type UsageBatch,
  type UsageDay,
  type UsageRow,
  type UsageSum,
} from './usage-store.ts';

/** A file is compacted when its size exceeds the last compacted size times this factor, plus this number of bytes. */
const MAX_GROWTH_FACTOR = 4;
const MIN_GROWTH_BYTES = 100_000;

/** What is appended to one file. */
interface FileLines {
  readonly lines: string;
  readonly batches: readonly UsageBatch[];
}

interface UsageFile {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Stores usage in files under DATA_DIR: `usage/<YYYY-MM-DD>/<digit>.txt`, where the digit is the first of the key id.
 * Each is appended to in one step, which takes less than a millisecond with thousands of keys. Longer work is in time slices.
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
      const appended = await this.#byPath(batches);
      // Locked, because two gateways may share the folder.
      const { failed, longest } = await withFileLock(lock, () => this.#appendAll(appended));
      if (longest !== undefined) await this.#compact(lock, longest);
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
  async sum(keys: readonly string[], days: readonly string[]): Promise<UsageSum[]> {
    const sums = new Map<string, UsageSum>(keys.map((key) => [key, newAmounts()]));
    for (const day of days) {
      for (const path of new Set(keys.map((key) => this.#pathFor(key, day)))) {
        await timeSlicer.next();
        for (const [key, amounts] of usageByKey(path)) {
          const sum = sums.get(key);
          if (sum !== undefined) for (const each of amounts) addOnDay(sum, day, each);
        }
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

  #appendAll(appended: ReadonlyMap<string, FileLines>): {
    failed: readonly UsageBatch[];
    longest: UsageFile | undefined;
  } {
    const failed: UsageBatch[] = [];
    let longest: UsageFile | undefined;
    for (const [path, { lines, batches }] of appended) {
      try {
        const bytes = appendUsage(path, lines);
        const isDue = bytes > MAX_GROWTH_FACTOR * (this.#compactedBytes.get(path) ?? 0) + MIN_GROWTH_BYTES;
        if (isDue && bytes > (longest?.bytes ?? 0)) longest = { path, bytes };
      } catch (error) {
        failed.push(...batches);
        this.#logFailure(error);
      }
    }
    return { failed, longest };
  }

  /** Only the longest file at each write. A failure is only logged: the batches are already appended. */
  async #compact(lock: string, { path, bytes }: UsageFile): Promise<void> {
    try {
      const compacted = await withFileLock(lock, (isHeld) => compactUsage(path, isHeld));
      this.#compactedBytes.set(path, compacted ?? bytes);
    } catch (error) {
      // The next attempt follows after the same growth.
      this.#compactedBytes.set(path, bytes);
      this.#log.warn(causeOf(error), 'a usage file cannot be compacted: it grows');
    }
  }

  /** In time slices. */
  async #byPath(batches: readonly UsageBatch[]): Promise<ReadonlyMap<string, FileLines>> {
    const found = new Map<string, { lines: string; readonly batches: UsageBatch[] }>();
    for (const batch of batches) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      const path = this.#pathFor(batch.key, batch.day);
      const own = found.get(path);
      if (own === undefined) found.set(path, { lines: linesOf(batch), batches: [batch] });
      else {
        own.lines += linesOf(batch);
        own.batches.push(batch);
      }
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
    const [oldest = ''] = lastDays(USAGE_RETENTION_DAYS);
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
