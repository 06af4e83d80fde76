/** How often upstreams are asked for their heads, in milliseconds. */
export interface HeadTimes {
  /** Bounds between polls while somebody watches: half of the time between blocks. */
  readonly watchedMin: number;
  readonly watchedMax: number;
  /** Bounds while there are calls only: the time between blocks. */
  readonly usedMin: number;
  readonly usedMax: number;
  /** After the last call polls become rarer, and then there are none. */
  readonly usedFor: number;
  /** Between polls that show whether a head that went back stays there, at the least. */
  readonly confirmMin: number;
  /** Without a word of newHeads, at the least: then they are not relied upon. */
  readonly silence: number;
  /** Behind the others: then newHeads are not relied upon either. */
  readonly lateMs: number;
  /** After failures, at the most. */
  readonly backoffMax: number;
  /** How long the first words of all upstreams are waited for. */
  readonly start: number;
}

/** A network's public endpoints bear a call a second; a wallet that looks now and then costs them a few. */
export const defaultTimes: HeadTimes = {
  watchedMin: 1_000,
  watchedMax: 4_000,
  usedMin: 2_000,
  usedMax: 15_000,
  usedFor: 180_000,
  confirmMin: 500,
  silence: 10_000,
  lateMs: 2_000,
  backoffMax: 15_000,
  start: 1_000,
};

/** While the pace is not known. */
const DEFAULT_BLOCK_MS = 2_000;

/**
 * Time from one poll to the next.
 * @param msSinceUse since the last call, or undefined while somebody watches
 * @param blockMs time between blocks, where it is known
 */
export function pollInterval(times: HeadTimes, msSinceUse: number | undefined, blockMs = DEFAULT_BLOCK_MS): number {
  if (msSinceUse === undefined) return between(blockMs / 2, times.watchedMin, times.watchedMax);
  return Math.max(between(blockMs, times.usedMin, times.usedMax), 2 * msSinceUse);
}

/**
 * Time between looks at a head that went back. Behind one address there may be several nodes, of which one is a block
 * late: by the next block it has caught up.
 */
export function confirmationInterval(times: HeadTimes, blockMs = DEFAULT_BLOCK_MS): number {
  return between(blockMs, times.confirmMin, times.usedMax);
}

/** Three blocks should have come. */
export function maxSilence(times: HeadTimes, blockMs = DEFAULT_BLOCK_MS): number {
  return Math.max(times.silence, 3 * blockMs);
}

function between(ms: number, min: number, max: number): number {
  return Math.min(Math.max(ms, min), max);
}
