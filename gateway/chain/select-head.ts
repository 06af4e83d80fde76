import type { SeenHead } from './header.ts';

/** Heads within this distance agree, because they are polled one after the other. A minimum for slow networks. */
const MIN_NEAR_BLOCKS = 16n;
const NEAR_MS = 30_000;

/** The network's blocks come at most this many times faster than before. */
const MAX_SPEEDUP = 4;

/** Block time if it is not known: one second, as on development chains and on the fastest networks after a pause. */
const DEFAULT_BLOCK_MS = 1_000;

/**
 * Selects the network's head: the highest plausible one. This excludes lagging heads, a single absurd number, and the head
 * of another chain behind the same address. A head far above the others is plausible in two cases.
 *
 * 1. Its block is younger than the next lower one by the time that so many blocks take. The others then lag or are stuck,
 *    however many they are. For real nodes this rule decides alone, from the first poll.
 * 2. The timestamps do not show that, no two other heads agree, and it continues from the network's previous head. The
 *    head then does not decrease because of one lower head.
 *
 * A single head is always selected, because there is nothing to compare it with.
 * @param heads of available upstreams on the right chain, in order of preference
 * @param last the network's previous head
 * @param blockMs time between blocks, if known
 */
export function selectHead(
  heads: readonly SeenHead[],
  last: SeenHead | undefined,
  blockMs: number | undefined,
): SeenHead | undefined {
  const paceMs = blockMs ?? DEFAULT_BLOCK_MS;
  const near = nearBlocks(blockMs);
  const highestFirst = heads.toSorted((one, other) => compare(other.number, one.number));
  return highestFirst.find((polled, index) => {
    const lower = highestFirst.slice(index + 1);
    const [next] = lower;
    if (next === undefined || polled.number - next.number <= near) return true;
    if (isPlausiblyYounger(polled, next, near, paceMs)) return true;
    const othersAgree = lower.some((one, at) => at > 0 && (lower[at - 1]?.number ?? 0n) - one.number <= near);
    if (othersAgree || last === undefined || polled.number < last.number - near) return false;
    return polled.number <= highestPlausible(last, polled.at, blockMs);
  });
}

/** The distance in blocks within which two heads agree. */
export function nearBlocks(blockMs: number | undefined): bigint {
  const blocks = BigInt(Math.ceil(NEAR_MS / (blockMs ?? NEAR_MS)));
  return blocks > MIN_NEAR_BLOCKS ? blocks : MIN_NEAR_BLOCKS;
}

function isPlausiblyYounger(polled: SeenHead, next: SeenHead, near: bigint, paceMs: number): boolean {
  if (polled.timestamp === undefined || next.timestamp === undefined) return false;
  const seconds = Number(polled.timestamp - next.timestamp);
  return (
    seconds > 0 &&
    polled.number - next.number <= near + maxBlocksIn(seconds * 1_000, Math.min(paceMs, DEFAULT_BLOCK_MS * MAX_SPEEDUP))
  );
}

/** The highest number that a block can plausibly have, some time after the network had this head. */
export function highestPlausible(last: SeenHead, at: number, blockMs: number | undefined): bigint {
  return last.number + nearBlocks(blockMs) + maxBlocksIn(at - last.at, blockMs ?? DEFAULT_BLOCK_MS);
}

function maxBlocksIn(ms: number, paceMs: number): bigint {
  return BigInt(Math.ceil((Math.max(ms, 0) * MAX_SPEEDUP) / paceMs));
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
