import type { SeenHead } from './header.ts';

/** Intervals and timeouts of polls: about one per second at most, which public endpoints allow. Occasional calls cause only a few. */
export const defaultTimes = {
  /** Bounds of the poll interval while there are watchers: half of the block time. */
  watchedMinMs: 1_000,
  watchedMaxMs: 4_000,
  /** Time of regular blocks from which on, with watchers, polls are at the expected times of blocks. */
  expectedMinMs: 1_800,
  /** Bounds of the poll interval without watchers: the block time. */
  usedMinMs: 2_000,
  usedMaxMs: 15_000,
  /** Time after the last call at which polls stop. Until then the interval grows. */
  idleAfterMs: 180_000,
  /** Time without a use and a poll after which more blocks than are followed may have been replaced. */
  pauseMs: 30_000,
  /** Minimum interval between the polls that confirm a lower head. */
  confirmMinMs: 500,
  /** Minimum time without newHeads notifications after which the subscription counts as broken if a poll finds a new block. */
  silenceMs: 10_000,
  /** Time behind the network's head after which the upstream is polled in spite of notifications. */
  lateMs: 2_000,
  /** Maximum time for which a call waits for the poll of an upstream that was at the head before. */
  catchUpWaitMs: 300,
  /** Minimum interval between polls of an upstream that calls skip because it is behind. */
  catchUpMinMs: 250,
  /** Maximum backoff after failures. */
  backoffMaxMs: 15_000,
  /** Time at the start for which the network's head, and calls for a tag, wait for the first polls of all upstreams. */
  firstPollsMs: 500,
  /** Time for which a poll of the head is not overdue, and after a start no further ones begin for a call. */
  startMs: 1_000,
};

export type PollTimes = Readonly<typeof defaultTimes>;

/** Backoff after a first failure. */
const FIRST_BACKOFF_MS = 1_000;

/** Block time until it is known. */
const DEFAULT_BLOCK_MS = 2_000;

/**
 * The interval between two rounds, in which the upstreams are polled.
 * @param sinceUseMs time since the last call; undefined: there are watchers
 * @param blockMs time between blocks, if known
 */
export function pollIntervalMs(times: PollTimes, sinceUseMs: number | undefined, blockMs = DEFAULT_BLOCK_MS): number {
  if (sinceUseMs === undefined) return clamp(blockMs / 2, times.watchedMinMs, times.watchedMaxMs);
  return Math.max(clamp(blockMs, times.usedMinMs, times.usedMaxMs), 2 * sinceUseMs);
}

/** Blocks in a row that came when they were expected, after which the next one is expected, too. */
const REGULAR_BLOCKS = 3;
/** Polls around the expected time are a 24th of the block time apart. */
const STEP_SHARE = 1 / 24;
const MIN_STEP_MS = 100;
const MAX_STEP_MS = 500;
/** Steps by which a block may be earlier or later than expected. */
const MAX_STEPS = 4;

/**
 * Time until the poll for the next block of a network with regular blocks. The first one is a step before a block time has
 * passed, because the last block was seen up to a step late.
 * @param heads of the network, oldest first
 * @returns undefined: the next block is not expected at a time, or it is late
 */
export function untilNextBlockMs(
  { expectedMinMs }: PollTimes,
  heads: readonly SeenHead[],
  blockMs: number | undefined,
  now: number,
): number | undefined {
  const last = heads.at(-1);
  if (last === undefined || blockMs === undefined || blockMs < expectedMinMs) return undefined;
  const stepMs = clamp(blockMs * STEP_SHARE, MIN_STEP_MS, MAX_STEP_MS);
  const recent = heads.slice(-REGULAR_BLOCKS - 1);
  const isRegular = recent.every(
    ({ number, at }) => Math.abs(last.at - at - blockMs * Number(last.number - number)) <= MAX_STEPS * stepMs,
  );
  const leftMs = last.at + blockMs - now;
  if (!isRegular || recent.length <= REGULAR_BLOCKS || leftMs < -MAX_STEPS * stepMs) return undefined;
  return Math.max(leftMs - stepMs, stepMs);
}

/**
 * The interval between polls that confirm a lower head: one block time. A load balancer may have reached a node that is one
 * block behind, and that node has caught up by then.
 */
export function confirmationIntervalMs(times: PollTimes, blockMs = DEFAULT_BLOCK_MS): number {
  return clamp(blockMs, times.confirmMinMs, times.usedMaxMs);
}

/** Limits for the time without newHeads notifications. */
export interface Silence {
  /** The upstream is polled: two blocks are missing. */
  readonly pollMs: number;
  /** The subscription is broken if the poll finds a new block. */
  readonly brokenMs: number;
}

export function silenceLimits(times: PollTimes, blockMs: number | undefined): Silence {
  const brokenMs = Math.max(times.silenceMs, 3 * (blockMs ?? DEFAULT_BLOCK_MS));
  return { pollMs: blockMs === undefined ? brokenMs : Math.max(times.lateMs, 2 * blockMs), brokenMs };
}

/** Backoff after a failed poll or WebSocket. It doubles with each failure. */
export function backoffAfter(failures: number, maxMs: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 10), maxMs);
}

function clamp(ms: number, min: number, max: number): number {
  return Math.min(Math.max(ms, min), max);
}
