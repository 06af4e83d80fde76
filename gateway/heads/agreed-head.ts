import type { Look } from './look.ts';

/** So far apart heads may be for being looked at one after the other; less on a slow network would change nothing. */
const NEAR_BLOCKS = 16n;
const NEAR_MS = 30_000;

/** No network's blocks come so much quicker than they have done. */
const QUICKER = 4;

/** While the pace is not known: development chains, and the quickest networks after a pause, give a block a second. */
const USUAL_MS = 1_000;

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
 * @param looks of upstreams that are there and of the right chain, in order of preference
 * @param last the network's head until now
 * @param blockMs time between blocks, where it is known
 */
export function agreedHead(
  looks: readonly Look[],
  last: Look | undefined,
  blockMs: number | undefined,
): Look | undefined {
  const pace = blockMs ?? USUAL_MS;
  const near = nearBlocks(blockMs);
  const highestFirst = looks.toSorted((one, other) => compare(other.number, one.number));
  return highestFirst.find((look, index) => {
    const lower = highestFirst.slice(index + 1);
    const [next] = lower;
    if (next === undefined || look.number - next.number <= near) return true;
    if (isYoungerBy(look, next, near, pace)) return true;
    const othersAgree = lower.some((one, at) => at > 0 && (lower[at - 1]?.number ?? 0n) - one.number <= near);
    return !othersAgree && last !== undefined && goesOn(last, look, near, pace);
  });
}

/** Heads that are no further apart agree. */
export function nearBlocks(blockMs: number | undefined): bigint {
  const blocks = BigInt(Math.ceil(NEAR_MS / (blockMs ?? NEAR_MS)));
  return blocks > NEAR_BLOCKS ? blocks : NEAR_BLOCKS;
}

function isYoungerBy(look: Look, next: Look, near: bigint, pace: number): boolean {
  if (look.timestamp === undefined || next.timestamp === undefined) return false;
  const seconds = Number(look.timestamp - next.timestamp);
  return (
    seconds > 0 && look.number - next.number <= near + blocksIn(seconds * 1_000, Math.min(pace, USUAL_MS * QUICKER))
  );
}

function goesOn(last: Look, look: Look, near: bigint, pace: number): boolean {
  const ahead = look.number - last.number;
  return ahead >= -near && ahead <= near + blocksIn(look.at - last.at, pace);
}

function blocksIn(ms: number, pace: number): bigint {
  return BigInt(Math.ceil((Math.max(ms, 0) * QUICKER) / pace));
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
