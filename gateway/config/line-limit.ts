import { clock } from '../clock/clock.ts';

const LINE_INTERVAL_MS = 60_000;
const MAX_LINES = 1_000;

/** Limits equal log lines to one a minute. */
export class LineLimit {
  readonly #lines = new Map<string, { loggedAt: number; count: number }>();

  /**
   * @param line what equal lines have in common
   * @returns how many equal lines the next one stands for; undefined: it is not written
   */
  take(line: string): number | undefined {
    const now = clock.now();
    const known = this.#lines.get(line) ?? { loggedAt: -Infinity, count: 0 };
    known.count++;
    this.#lines.delete(line);
    this.#lines.set(line, known);
    const [oldest] = this.#lines.keys();
    if (this.#lines.size > MAX_LINES && oldest !== undefined) this.#lines.delete(oldest);
    if (now - known.loggedAt < LINE_INTERVAL_MS) return undefined;
    const { count } = known;
    this.#lines.set(line, { loggedAt: now, count: 0 });
    return count;
  }
}
