import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { maxEntries } from './max-entries.ts';

const LINE_INTERVAL_MS = 60_000;
const MAX_LINES = 1_000;

/** Limits equal log lines to one a minute. */
export class LineLimit {
  readonly #lines = new LRUCache<string, { loggedAt: number; count: number }>(maxEntries(MAX_LINES));

  /**
   * @param line what equal lines have in common
   * @returns how many equal lines the next one stands for; undefined: it is not written
   */
  take(line: string): number | undefined {
    const now = clock.now();
    const { loggedAt, count } = this.#lines.get(line) ?? { loggedAt: -Infinity, count: 0 };
    const isDue = now - loggedAt >= LINE_INTERVAL_MS;
    this.#lines.set(line, isDue ? { loggedAt: now, count: 0 } : { loggedAt, count: count + 1 });
    return isDue ? count + 1 : undefined;
  }
}
