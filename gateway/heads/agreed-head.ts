import type { PolledHead } from './head-poll.ts';

/** So far apart heads may be for being looked at one after the other; less on a slow network would change nothing. */
const MIN_NEAR_BLOCKS = 16n;
const NEAR_MS = 30_000;

/** No network's blocks come so much quicker than they have done. */
const MAX_SPEEDUP = 4;

/** While the pace is not known: development chains, and the quickest networks after a pause, give a block a second. */
const DEFAULT_BLOCK_MS = 1_000;

/**
 * The highest head that is believable. A head that lags is never taken for the network's, and neither is one absurd
 * number, or the head of another chain behind the same address. A head far above the others is believed
 *
 * 1. when its block is as much younger than the next one's as that many blocks take: the others lag, or are stuck, be
 *    they ever so many. Real nodes are told apart by this alone, from the first look on;
 * 2. when the clocks of the blocks do not say so, and no two others agree on less: when it goes on from where the
 *    network's head was. What was served is not taken back for the word of one.
 *
 * An upstream by itself is believed whatever it says: there is no other truth.
 * @param polledHeads of upstreams that are there and of the right chain, in order of preference
 * @param last the network's head until now
 * @param blockMs time between blocks, where it is known
 */
export function agreedHead(
  polledHeads: readonly PolledHead[],
  last: PolledHead | undefined,
  blockMs: number | undefined,
): PolledHead | undefined {
  const pace = blockMs ?? DEFAULT_BLOCK_MS;
  const near = nearBlocks(blockMs);
  const highestFirst = polledHeads.toSorted((one, other) => compare(other.number, one.number));
  return highestFirst.find((polled, index) => {
    const lower = highestFirst.slice(index + 1);
    const [next] = lower;
    if (next === undefined || polled.number - next.number <= near) return true;
    if (isYoungerBy(polled, next, near, pace)) return true;
    const othersAgree = lower.some((one, at) => at > 0 && (lower[at - 1]?.number ?? 0n) - one.number <= near);
    return !othersAgree && last !== undefined && continuesFrom(last, polled, near, pace);
  });
}

/** Heads that are no further apart agree. */
export function nearBlocks(blockMs: number | undefined): bigint {
  const blocks = BigInt(Math.ceil(NEAR_MS / (blockMs ?? NEAR_MS)));
  return blocks > MIN_NEAR_BLOCKS ? blocks : MIN_NEAR_BLOCKS;
}

function isYoungerBy(polled: PolledHead, next: PolledHead, near: bigint, pace: number): boolean {
  if (polled.timestamp === undefined || next.timestamp === undefined) return false;
  const seconds = Number(polled.timestamp - next.timestamp);
  return (
    seconds > 0 &&
    polled.number - next.number <= near + maxBlocksIn(seconds * 1_000, Math.min(pace, DEFAULT_BLOCK_MS * MAX_SPEEDUP))
  );
}

function continuesFrom(last: PolledHead, polled: PolledHead, near: bigint, pace: number): boolean {
  const ahead = polled.number - last.number;
  return ahead >= -near && ahead <= near + maxBlocksIn(polled.at - last.at, pace);
}

function maxBlocksIn(ms: number, pace: number): bigint {
  return BigInt(Math.ceil((Math.max(ms, 0) * MAX_SPEEDUP) / pace));
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
