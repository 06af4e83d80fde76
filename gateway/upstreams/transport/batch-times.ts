import { LatencyWindow } from '../latency-window.ts';

/** Smaller batches are not compared. */
export const MIN_COMPARED_CALLS = 4;
/** One of so many batches is sent as single calls; the first ones of a comparison more often. */
const ALONE_INTERVAL = 100;
const FIRST_ALONE_INTERVAL = 4;
/** Batches of each way before they are compared. */
const MIN_BATCHES = 16;
/** So many times the median is certain with these numbers of batches, at latencies as they vary over the internet. */
const MAX_SLOWDOWN = 1.4;
const MIN_DIFFERENCE_MS = 0.5;

/**
 * Finds out whether the calls of a batch take longer together than alone, as at nodes that work on them one after the
 * other. The time of a batch is that until its last response.
 */
export class BatchTimes {
  readonly #together = new LatencyWindow();
  readonly #alone = new LatencyWindow();
  #batches = 0;
  #aloneCount = 0;

  /** Whether the next batch is sent as single calls. To be called once for each batch. */
  takeAlone(): boolean {
    return ++this.#batches % (this.#aloneCount < MIN_BATCHES ? FIRST_ALONE_INTERVAL : ALONE_INTERVAL) === 0;
  }

  /** @returns whether batches are slower */
  add(ms: number, isAlone: boolean, now: number): boolean {
    (isAlone ? this.#alone : this.#together).add(ms, now);
    if (isAlone) this.#aloneCount++;
    const [together, alone] = [this.#together.quantile(0.5, MIN_BATCHES), this.#alone.quantile(0.5, MIN_BATCHES)];
    if (together === undefined || alone === undefined) return false;
    return together > alone * MAX_SLOWDOWN && together > alone + MIN_DIFFERENCE_MS;
  }

  /** To be called when batches are used again. */
  clear(): void {
    this.#together.clear();
    this.#alone.clear();
    this.#batches = 0;
    this.#aloneCount = 0;
  }
}
