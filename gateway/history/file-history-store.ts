import { existsSync, readFileSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolderFor } from '../auth/stores/private-file.ts';
import { clock } from '../clock/clock.ts';
import { causeOf, type Log } from '../config/log.ts';
import {
  historyRanges,
  rangeNames,
  type HistoryPoint,
  type HistoryRange,
  type LongHistory,
} from '../metrics/long-history.ts';
import { parsePoint, pointText, type HistoryStore, type ReadHistory } from './history-store.ts';

/** Stores the history in `DATA_DIR/history/<range>.jsonl`, a line for each step, and two for one with a restart. */
export class FileHistoryStore implements HistoryStore {
  readonly #folder: string;
  readonly #history: LongHistory;
  readonly #log: Log;
  readonly #isWriter: () => boolean;
  readonly #lines = new Map<HistoryRange, number>();
  #queue: Promise<void> = Promise.resolve();
  #hasFailed = false;

  /**
   * Reads the history from before the start, then writes each new step.
   * @param isWriter whether this process writes: one of several workers does
   */
  constructor(dataDir: string, history: LongHistory, log: Log, isWriter: () => boolean) {
    this.#isWriter = isWriter;
    this.#folder = join(dataDir, 'history');
    this.#history = history;
    this.#log = log;
    const nowS = clock.unixMs() / 1000;
    for (const range of rangeNames) {
      const lines = this.#readLines(range);
      this.#lines.set(range, lines.length);
      const { stepS, steps } = historyRanges[range];
      for (const point of lines.flatMap((line) => parsePoint(line) ?? []))
        if (point.at > nowS - stepS * steps && point.at <= nowS) history.add(range, point);
    }
    history.onPoint = (range, point) => {
      if (!this.#isWriter()) return;
      this.#queue = this.#queue
        .then(() => this.#write(range, point))
        .catch((error: unknown) => {
          if (!this.#hasFailed) this.#log.warn(causeOf(error), 'the history cannot be written: it stays in memory');
          this.#hasFailed = true;
        });
    };
  }

  read(range: HistoryRange): Promise<ReadHistory> {
    return Promise.resolve({ points: this.#history.pointsOf(range), isPartial: false });
  }

  async close(): Promise<void> {
    this.#history.onPoint = () => undefined;
    await this.#queue;
  }

  #pathOf(range: HistoryRange): string {
    return join(this.#folder, `${range}.jsonl`);
  }

  #readLines(range: HistoryRange): string[] {
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
    const text = points.map((one) => `${pointText(one)}\n`).join('');
    await (isLong ? writeFile(path, text, { mode: 0o600 }) : appendFile(path, text, { mode: 0o600 }));
    this.#lines.set(range, isLong ? points.length : lines);
  }
}
