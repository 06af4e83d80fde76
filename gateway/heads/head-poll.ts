import { parseHeader, parseQuantity, type Header } from './header.ts';

/** A block's limit moves by a thousandth from one to the next. */
export const MAX_GAS_LIMIT_AGE_MS = 300_000;

/** What an upstream said its newest block is. */
export interface PolledHead {
  readonly number: bigint;
  /** Of the block, 0 where it has none that is usable; undefined where only its number is known. */
  readonly gasLimit: bigint | undefined;
  /** In seconds, as the block has it. */
  readonly timestamp: bigint | undefined;
  readonly header: Header | undefined;
  /** When it was said, on the clock of performance.now(). */
  readonly at: number;
}

export type PolledBlock = PolledHead & { readonly gasLimit: bigint };

/** Of a block, or of what newHeads tells. Undefined where it has no number. */
export function parsePolledHead(value: unknown, at: number): PolledBlock | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const block = value as Record<string, unknown>;
  const number = parseQuantity(block['number']);
  if (number === undefined) return undefined;
  const gasLimit = parseQuantity(block['gasLimit']) ?? 0n;
  return { number, gasLimit, timestamp: parseQuantity(block['timestamp']), header: parseHeader(value), at };
}
