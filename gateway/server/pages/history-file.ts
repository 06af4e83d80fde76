import { existsSync, readFileSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolderFor } from '../../auth/stores/private-file.ts';
import { causeOf, type Log } from '../../config/log.ts';
import {
  FIELDS,
  historyRanges,
  rangeNames,
  type HistoryPoint,
  type HistoryRange,
  type LongHistory,
} from '../../metrics/long-history.ts';

/** Stores the history in `DATA_DIR/history/<range>.jsonl`, a line for each step. */
export class HistoryFile {
  readonly #folder: string;
  readonly #history: LongHistory;
  readonly #log: Log;
  readonly #isWriter: () => boolean;
  readonly #lines = new Map<HistoryRange, number>();
  #queue: Promise<void> = Promise.resolve();
  #hasFailed = false;

  /** @param isWriter whether this process writes: one of several workers does */
  constructor(dataDir: string, history: LongHistory, log: Log, isWriter: () => boolean = () => true) {
    this.#isWriter = isWriter;
    this.#folder = join(dataDir, 'history');
    this.#history = history;
    this.#log = log;
  }

  /** Reads the history from before the start, then writes each new step. @param nowS seconds since 1970 */
  open(nowS: number): void {
    for (const range of rangeNames) {
      const lines = this.#read(range);
      this.#lines.set(range, lines.length);
      const { stepS, steps } = historyRanges[range];
      const points = lines.flatMap((line) => parsePoint(line) ?? []);
      for (const point of points)
        if (point.at > nowS - stepS * steps && point.at <= nowS) this.#history.add(range, point);
    }
    this.#history.onPoint = (range, point) => {
      if (!this.#isWriter()) return;
      this.#queue = this.#queue
        .then(() => this.#write(range, point))
        .catch((error: unknown) => {
          if (!this.#hasFailed) this.#log.warn(causeOf(error), 'the history cannot be written: it stays in memory');
          this.#hasFailed = true;
        });
    };
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    this.#history.onPoint = () => undefined;
    await this.#queue;
  }

  #pathOf(range: HistoryRange): string {
    return join(this.#folder, `${range}.jsonl`);
  }

  #read(range: HistoryRange): string[] {
    const path = this.#pathOf(range);
    try {
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
    } catch (error) {
      this.#log.warn(causeOf(error), 'the history cannot be read');
      return [];
    }
  }

  /** A file of twice as many lines as the range has steps is written again. */
  async #write(range: HistoryRange, point: HistoryPoint): Promise<void> {
    const path = this.#pathOf(range);
    makePrivateFolderFor(path);
    const lines = (this.#lines.get(range) ?? 0) + 1;
    const isLong = lines > 2 * historyRanges[range].steps;
    const points = isLong ? this.#history.pointsOf(range) : [point];
    const text = points.map((one) => `${JSON.stringify([one.at, one.names, rounded(one.values)])}\n`).join('');
    await (isLong ? writeFile(path, text, { mode: 0o600 }) : appendFile(path, text, { mode: 0o600 }));
    this.#lines.set(range, isLong ? points.length : lines);
  }
}

/** To three decimals; null: unknown. */
function rounded(values: Float32Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : Math.round(value * 1000) / 1000));
}

/** @returns undefined for a line that was not written completely */
function parsePoint(line: string): HistoryPoint | undefined {
  try {
    const [at, names, values] = JSON.parse(line) as [number, string[], (number | null)[]];
    if (typeof at !== 'number' || values.length !== names.length * FIELDS) return undefined;
    return { at, names, values: Float32Array.from(values, (value) => value ?? NaN) };
  } catch {
    return undefined;
  }
}
