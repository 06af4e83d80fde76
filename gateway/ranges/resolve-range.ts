import type { BlockRange } from './pending-ranges.ts';
import type { RangeFilter } from './range-filter.ts';

/** A block by its number or tag; undefined: there is none. */
export type FetchBlockOfCall = (
  block: string,
) => Promise<{ readonly number: number; readonly hash: string } | undefined>;

/** The range of a filter as numbers. */
export interface ResolvedRange extends BlockRange {
  /** The hash of its last block; undefined: it is final. */
  readonly hash: string | undefined;
}

/** Fixes the ends of a range to numbers. An upper end above the head means the head. The range may be empty. */
export async function resolveRange(
  { fromBlock, toBlock }: Pick<RangeFilter, 'fromBlock' | 'toBlock'>,
  fetch: FetchBlockOfCall,
  isFinal: (block: number) => boolean,
): Promise<ResolvedRange> {
  const to = numberOf(toBlock);
  const last =
    to !== undefined && isFinal(to)
      ? { number: to, hash: undefined }
      : ((await fetch(toBlock === 'earliest' ? '0x0' : toBlock)) ?? (await fetch('latest')));
  const from = numberOf(fromBlock) ?? (await fetch(fromBlock))?.number;
  // Without a block, the range is empty.
  return { from: from ?? 0, to: last?.number ?? -1, hash: last?.hash };
}

/** Undefined: a tag whose block changes. */
function numberOf(block: string): number | undefined {
  if (block === 'earliest') return 0;
  return block.startsWith('0x') ? Number(block) : undefined;
}
