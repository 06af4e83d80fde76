import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf, errorCode, type Log } from '../config/log.ts';
import { withFileLock } from '../keys/file-lock.ts';
import { makePrivateFolderFor, writePrivateFile } from '../keys/private-file.ts';
import {
  addTo,
  byDayAndMethod,
  lastDays,
  newAmounts,
  rowOf,
  usageKeptDays,
  type Amounts,
  type UsageBatch,
  type UsageRow,
  type UsageStore,
} from './usage-store.ts';

/** `{"<key id>": {"<network> <method>": {"calls", "units", "errors", "bytes"}}}` */
type Day = Record<string, Record<string, Amounts>>;

/** A file for each day, `usage/<YYYY-MM-DD>.json` under DATA_DIR: what is written each second is one day's. */
export class FileUsageStore implements UsageStore {
  readonly up = true;
  readonly #folder: string;
  readonly #log: Log;
  #tidiedOn = '';
  #hasFailed = false;

  constructor(dataDir: string, log: Log) {
    this.#folder = join(dataDir, 'usage');
    this.#log = log;
  }

  /** A file is replaced as a whole, so a batch is in it or it is not: its number need not be kept. */
  async add(batches: readonly UsageBatch[]): Promise<readonly UsageBatch[]> {
    const left: UsageBatch[] = [];
    for (const day of new Set(batches.map((batch) => batch.day))) {
      const own = batches.filter((batch) => batch.day === day);
      try {
        await this.#addTo(day, own);
        this.#hasFailed = false;
      } catch (error) {
        left.push(...own);
        if (!this.#hasFailed) this.#log.warn(causeOf(error), 'usage cannot be written: it is counted in memory');
        this.#hasFailed = true;
      }
    }
    return left;
  }

  read(key: string, days: readonly string[]): Promise<UsageRow[]> {
    const rows = days.flatMap((day) =>
      Object.entries(this.#dayOf(day)[key] ?? {}).map(([place, amounts]) => rowOf(day, place, amounts)),
    );
    return Promise.resolve(rows.sort(byDayAndMethod));
  }

  opened(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #addTo(day: string, batches: readonly UsageBatch[]): Promise<void> {
    const path = this.#pathOf(day);
    makePrivateFolderFor(path);
    // Two gateways may share the folder.
    await withFileLock(`${path}.lock`, () => {
      const all = this.#dayOf(day);
      for (const { key, amounts } of batches) {
        const places = (all[key] ??= {});
        for (const [place, more] of amounts) addTo((places[place] ??= newAmounts()), more);
      }
      // Every second: to wait for the disk each time would hold up calls.
      writePrivateFile(path, `${JSON.stringify(all, undefined, 1)}\n`, { isLasting: false });
    });
    if (this.#tidiedOn === day) return;
    this.#tidiedOn = day;
    this.#tidy();
  }

  #tidy(): void {
    const [oldest = ''] = lastDays(usageKeptDays);
    for (const name of readdirSync(this.#folder)) {
      if (/^\d{4}-\d\d-\d\d\.json$/.test(name) && name < oldest) rmSync(join(this.#folder, name), { force: true });
    }
  }

  /** A file that is not there, or that a power cut left behind in pieces, holds nothing. */
  #dayOf(day: string): Day {
    try {
      return JSON.parse(readFileSync(this.#pathOf(day), 'utf8')) as Day;
    } catch (error) {
      if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return {};
      throw error;
    }
  }

  #pathOf(day: string): string {
    return join(this.#folder, `${day}.json`);
  }
}
