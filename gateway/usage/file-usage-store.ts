import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf, type Log } from '../config/log.ts';
import { withFileLock } from '../auth/stores/file-lock.ts';
import { makePrivateFolderFor } from '../auth/stores/private-file.ts';
import { appendUsage, compactUsage, usageOf } from './usage-file.ts';
import {
  byDayAndMethod,
  lastDays,
  rowOf,
  usageRetentionDays,
  type UsageBatch,
  type UsageRow,
  type UsageStore,
} from './usage-store.ts';

/** A file is summed up when it is so many times as long as it was then, and so many bytes more. */
const maxGrowthFactor = 4;
const minGrowthBytes = 100_000;

/**
 * A folder for each day, `usage/<YYYY-MM-DD>/` under DATA_DIR, with a file for each first digit of key ids: calls wait
 * while one is summed up, some milliseconds where thousands of keys are in use.
 */
export class FileUsageStore implements UsageStore {
  readonly isUp = true;
  readonly #folder: string;
  readonly #log: Log;
  /** Bytes that files had when they were summed up last, by path. */
  readonly #compactedSizes = new Map<string, number>();
  #removedBefore = '';
  #hasFailed = false;

  constructor(dataDir: string, log: Log) {
    this.#folder = join(dataDir, 'usage');
    this.#log = log;
  }

  /** A batch is added as a whole or not at all: its number need not be kept. */
  async add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]> {
    try {
      const lock = join(this.#folder, 'lock');
      makePrivateFolderFor(lock);
      // Two gateways may share the folder.
      const failed = await withFileLock(lock, () => this.#addAll(batches));
      this.#removeExpired();
      this.#hasFailed = failed.length > 0;
      return failed;
    } catch (error) {
      this.#failed(error);
      return batches;
    }
  }

  read(key: string, days: readonly string[]): Promise<UsageRow[]> {
    const rows = days.flatMap((day) =>
      [...usageOf(key, this.#pathFor(key, day))].map(([place, amounts]) => rowOf(day, place, amounts)),
    );
    return Promise.resolve(rows.sort(byDayAndMethod));
  }

  waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #addAll(batches: readonly UsageBatch[]): readonly UsageBatch[] {
    const failed: UsageBatch[] = [];
    let longest: { readonly path: string; readonly size: number } | undefined;
    for (const [path, own] of this.#byPath(batches)) {
      try {
        const size = appendUsage(path, own);
        const isDue = size > maxGrowthFactor * (this.#compactedSizes.get(path) ?? 0) + minGrowthBytes;
        if (isDue && size > (longest?.size ?? 0)) longest = { path, size };
      } catch (error) {
        failed.push(...own);
        this.#failed(error);
      }
    }
    // One at a time, lest calls wait for all of them.
    if (longest !== undefined) this.#compact(longest.path, longest.size);
    return failed;
  }

  /** What was appended is there by then, whatever comes of this. */
  #compact(path: string, size: number): void {
    try {
      this.#compactedSizes.set(path, compactUsage(path));
    } catch (error) {
      // Tried again when it has grown as much again.
      this.#compactedSizes.set(path, size);
      this.#log.warn(causeOf(error), 'a file of usage cannot be summed up: it grows');
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

  #failed(error: unknown): void {
    if (!this.#hasFailed) this.#log.warn(causeOf(error), 'usage cannot be written: it is counted in memory');
    this.#hasFailed = true;
  }

  #removeExpired(): void {
    const [oldest = ''] = lastDays(usageRetentionDays);
    if (this.#removedBefore === oldest) return;
    this.#removedBefore = oldest;
    this.#compactedSizes.clear();
    try {
      for (const name of readdirSync(this.#folder)) {
        if (!/^\d{4}-\d\d-\d\d$/.test(name) || name >= oldest) continue;
        rmSync(join(this.#folder, name), { recursive: true, force: true });
      }
    } catch (error) {
      this.#log.warn(causeOf(error), 'usage of days that are over cannot be removed');
    }
  }
}
