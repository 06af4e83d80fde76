import { clock } from '../../clock/clock.ts';

/** Smaller batches are not compared. */
export const MIN_COMPARED_CALLS = 4;
/**
 * One of so many batches is sent as single calls, at most one in a second: they cost several times as much. More often before
 * the first pairs, and while they were serial.
 */
const ALONE_INTERVAL = 100;
const MIN_ALONE_MS = 1_000;
const FIRST_ALONE_INTERVAL = 4;
const SERIAL_ALONE_INTERVAL = 2;
/** Share of the sum of its calls' times from which on a batch takes as long as its calls one after the other. */
const SERIAL_SHARE = 0.7;
/** Pairs in a row. One may be serial because the gateway or the node paused between its two times. */
const MIN_PAIRS = 3;
/** A smaller gain is not worth the requests. */
const MIN_GAIN_MS = 0.5;
/** The two times of a pair are at most this far apart. */
const MAX_PAIR_MS = 10_000;

/** A batch that was sent as single calls. */
interface AloneTime {
  readonly at: number;
  /** Mean time of the calls of the batch; undefined: they are in progress. */
  meanMs: number | undefined;
}

/**
 * Finds out whether a node works on the calls of a batch one after the other. Compares pairs of one time: the calls of a batch
 * that was sent as single calls, and the next batch that was sent together. Times are the node's, from the request's last byte
 * to the response's first.
 */
export class BatchTimes {
  /** The last batch that was sent as single calls, until one that was sent together after it is compared with it. */
  alone: AloneTime | undefined;
  #batches = 0;
  /** Time when a batch was last sent as single calls. */
  #aloneAt = -Infinity;
  #pairs = 0;
  /** The last pairs that were serial. */
  #serialPairs = 0;

  /** Whether the next batch is sent as single calls. To be called once for each batch. */
  takeAlone(): boolean {
    const interval =
      this.#serialPairs > 0 ? SERIAL_ALONE_INTERVAL : this.#pairs < MIN_PAIRS ? FIRST_ALONE_INTERVAL : ALONE_INTERVAL;
    if (++this.#batches % interval !== 0) return false;
    const at = clock.now();
    if (interval === ALONE_INTERVAL && at - this.#aloneAt < MIN_ALONE_MS) return false;
    if (this.alone !== undefined && at - this.alone.at <= MAX_PAIR_MS) return false;
    this.#aloneAt = at;
    this.alone = { at, meanMs: undefined };
    return true;
  }

  /** @param alone the batch that was sent as single calls @param meanMs of its calls; undefined: one has failed */
  addAlone(alone: AloneTime, meanMs: number | undefined): void {
    alone.meanMs = meanMs;
    if (meanMs === undefined && this.alone === alone) this.alone = undefined;
  }

  /**
   * @param alone when the batch was sent together: later ones may have been sent after a pause
   * @param ms of the batch, which had so many calls
   * @returns whether its node works on them one after the other; undefined: this batch does not decide it
   */
  addTogether(alone: AloneTime | undefined, ms: number, calls: number): boolean | undefined {
    if (alone?.meanMs === undefined || alone !== this.alone || clock.now() - alone.at > MAX_PAIR_MS) return undefined;
    this.alone = undefined;
    this.#pairs++;
    const { meanMs } = alone;
    const isSerial = ms >= SERIAL_SHARE * meanMs * calls && ms > meanMs + MIN_GAIN_MS;
    this.#serialPairs = isSerial ? this.#serialPairs + 1 : 0;
    return isSerial && this.#serialPairs < MIN_PAIRS ? undefined : isSerial;
  }
}
