/** Smaller batches are not compared. */
export const MIN_COMPARED_CALLS = 4;
/** One of so many batches is sent as single calls; the first ones of a comparison more often. */
const ALONE_INTERVAL = 100;
const FIRST_ALONE_INTERVAL = 4;
/** Batches of each way before they are compared. */
const MIN_BATCHES = 16;
/** The last ones of each way that are compared. */
const MAX_BATCHES = 64;
/** At latencies over the internet, a difference by this factor is certain with these numbers of batches. */
const MAX_SLOWDOWN = 1.4;
const MIN_DIFFERENCE_MS = 0.5;

/**
 * Finds out whether the calls of a batch take longer together than alone, as at nodes that work on them one after the
 * other. The time of a batch is that until its last response.
 */
export class BatchTimes {
  #together: number[] = [];
  #alone: number[] = [];
  #batches = 0;
  #aloneCount = 0;

  /** Whether the next batch is sent as single calls. To be called once for each batch. */
  takeAlone(): boolean {
    return ++this.#batches % (this.#aloneCount < MIN_BATCHES ? FIRST_ALONE_INTERVAL : ALONE_INTERVAL) === 0;
  }

  /** @returns whether batches are slower */
  add(ms: number, isAlone: boolean): boolean {
    const times = isAlone ? this.#alone : this.#together;
    times.push(ms);
    if (times.length > MAX_BATCHES) times.shift();
    if (isAlone) this.#aloneCount++;
    // They are compared after each batch that is sent alone: sorting takes 3 µs.
    if (!isAlone || Math.min(this.#alone.length, this.#together.length) < MIN_BATCHES) return false;
    const [together, alone] = [median(this.#together), median(this.#alone)];
    return together > alone * MAX_SLOWDOWN && together > alone + MIN_DIFFERENCE_MS;
  }

  /** To be called when batches are used again. */
  clear(): void {
    this.#together = [];
    this.#alone = [];
    this.#batches = 0;
    this.#aloneCount = 0;
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? NaN;
}
