/** 1, 2, 5, 10, 20, 50 … blocks: most limits of nodes and providers are such numbers. */
const widths = Array.from({ length: 11 }, (_, zeros) => [1, 2, 5].map((digit) => digit * 10 ** zeros)).flat();

/** The widest part below this number of blocks; 0: there is none. */
export function narrowerThan(blocks: number): number {
  return widths.findLast((width) => width < blocks) ?? 0;
}

/** The narrowest part above this number of blocks. */
export function widerThan(blocks: number): number {
  return widths.find((width) => width > blocks) ?? Infinity;
}

/** Widths of parts within this number of blocks, the widest first. */
export function widthsWithin(blocks: number): number[] {
  return widths.filter((width) => width <= blocks).reverse();
}

/**
 * The last block of the part that begins at `from`. Parts end before multiples of their width, so that requests with other
 * ends have the same parts, which may be cached.
 */
export function endOfPart(from: number, to: number, maxBlocks: number): number {
  const width = narrowerThan(maxBlocks + 1);
  return Math.min(to, from - (from % width) + width - 1);
}

/** The first block of the part that ends at `to`. */
export function startOfPart(from: number, to: number, maxBlocks: number): number {
  const width = narrowerThan(maxBlocks + 1);
  return Math.max(from, to - (to % width));
}

/** The last block of the widest range from this block that has so many parts. */
export function endOfParts(from: number, maxBlocks: number, parts: number): number {
  return endOfPart(from, Infinity, maxBlocks) + (parts - 1) * narrowerThan(maxBlocks + 1);
}
