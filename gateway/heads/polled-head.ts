import { parseHeader, parseQuantity, type Header } from './header.ts';

/** An older gas limit is not used. Gas limits change by at most 1/1024 per block. */
export const MAX_GAS_LIMIT_AGE_MS = 300_000;

/** The newest block of an upstream, from a poll, a notification or a response to a caller. */
export interface PolledHead {
  readonly number: bigint;
  /** 0: the block has no usable gas limit. Undefined: only its number is known. */
  readonly gasLimit: bigint | undefined;
  /** Unix time in seconds, from the block. */
  readonly timestamp: bigint | undefined;
  readonly header: Header | undefined;
  /** Time of the response or notification, by performance.now(). */
  readonly at: number;
}

export type PolledBlock = PolledHead & { readonly gasLimit: bigint };

/** Parses a block or a newHeads notification. Undefined if it has no number. */
export function parsePolledHead(value: unknown, at: number): PolledBlock | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const block = value as Record<string, unknown>;
  const number = parseQuantity(block['number']);
  if (number === undefined) return undefined;
  const gasLimit = parseQuantity(block['gasLimit']) ?? 0n;
  return { number, gasLimit, timestamp: parseQuantity(block['timestamp']), header: parseHeader(value), at };
}

/** If a head falls and rises again within this time, several nodes probably share the URL. */
const RISE_MS = 15_000;
/** For this time. */
const ALTERNATION_MS = 60_000;

/** Detects by an upstream's heads that several nodes of different height share its URL. */
export class HeadAlternation {
  #beforeFall = Infinity;
  #fellAt = -Infinity;
  #alternatedAt = -Infinity;

  isRecent(now: number): boolean {
    return now - this.#alternatedAt < ALTERNATION_MS;
  }

  observe({ number, at }: PolledHead, previous: PolledHead | undefined): void {
    if (number >= this.#beforeFall) {
      this.#beforeFall = Infinity;
      if (at - this.#fellAt < RISE_MS) this.#alternatedAt = at;
    } else if (previous !== undefined && number < previous.number) {
      this.#beforeFall = Number(previous.number);
      this.#fellAt = at;
    }
  }
}
