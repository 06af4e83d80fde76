import { endOfPart, startOfPart } from './part-widths.ts';

/** Blocks, both ends included. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** A range without a response. A wider part of it than `maxBlocks` was refused. */
export interface PendingRange extends BlockRange {
  readonly maxBlocks: number;
}

/** The ranges of one request that have yet to be requested, from the lowest to the highest block. */
export class PendingRanges {
  readonly #ranges: PendingRange[] = [];

  get lowest(): PendingRange | undefined {
    return this.#ranges[0];
  }

  get highest(): PendingRange | undefined {
    return this.#ranges.at(-1);
  }

  add(range: PendingRange): void {
    const at = this.#ranges.findIndex(({ from }) => from > range.from);
    this.#ranges.splice(at === -1 ? this.#ranges.length : at, 0, range);
  }

  /** Removes a part from the start of the lowest range. @param to the end of the part */
  takeLowest(to: number): BlockRange {
    const { from, ...range } = this.#ranges.shift() as PendingRange;
    if (to < range.to) this.#ranges.unshift({ ...range, from: to + 1 });
    return { from, to };
  }

  /** Removes a part of at most this many blocks from the start of the lowest range. */
  takeFirstPart(maxBlocks: number): BlockRange {
    const { from, to, maxBlocks: own } = this.#ranges[0] as PendingRange;
    return this.takeLowest(endOfPart(from, to, Math.min(own, maxBlocks)));
  }

  /** Removes a part of at most this many blocks from the end of the highest range. */
  takeLastPart(maxBlocks: number): BlockRange {
    const { to, ...range } = this.#ranges.pop() as PendingRange;
    const from = startOfPart(range.from, to, Math.min(range.maxBlocks, maxBlocks));
    if (from > range.from) this.#ranges.push({ ...range, to: from - 1 });
    return { from, to };
  }
}

export function blocksIn({ from, to }: BlockRange): number {
  return to - from + 1;
}
