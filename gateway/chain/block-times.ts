import type { SeenHead } from './header.ts';

/** Size of the sample: it evens out timestamps in whole seconds, of which some have four blocks and others none. */
const SAMPLE_BLOCKS = 32;

/** Default lag at which an upstream is skipped: from proxyd, for networks with a block every 2 s. */
const MAX_LAG_BLOCKS = 8;
/** The same as a time, for faster networks: their nodes are seconds apart, too. */
const MAX_LAG_MS = 16_000;

const MIN_BLOCK_MS = 100;
const MAX_BLOCK_MS = 60_000;

const MAX_HEADS = 64;

/** Polls of one round end at different times, and on a fast network there may be a block between them. */
const ROUND_MS = 1_000;

/** Estimates the time between a network's blocks, and remembers its latest heads, with which the heads of upstreams are compared. */
export class BlockTimes {
  /** Heads, oldest first. Another array after each change. */
  heads: readonly SeenHead[] = [];
  #last: SeenHead | undefined;
  #meanMs = 0;
  #blocks = 0;

  /** Time between blocks. Undefined until two heads are known. */
  get blockMs(): number | undefined {
    return this.#blocks === 0 ? undefined : Math.max(this.#meanMs, MIN_BLOCK_MS);
  }

  /** @param head of the last number: its time in the history stays that of the first one */
  add(head: SeenHead): void {
    if (this.heads.at(-1)?.number !== head.number) this.heads = [...this.heads.slice(1 - MAX_HEADS), head];
    const last = this.#last;
    this.#last = head;
    if (last === undefined || head.number <= last.number) return;
    const blocks = Math.min(Number(head.number - last.number), SAMPLE_BLOCKS);
    const msPerBlock = msBetween(last, head) / Number(head.number - last.number);
    this.#blocks = Math.min(this.#blocks + blocks, SAMPLE_BLOCKS);
    this.#meanMs += ((Math.min(msPerBlock, MAX_BLOCK_MS) - this.#meanMs) * blocks) / this.#blocks;
  }

  /** Polling stops: the next head says nothing about the block time. */
  pause(): void {
    this.#last = undefined;
  }
}

/** Ms between two heads, by block timestamps if they are plausible: they do not depend on the poll interval. */
function msBetween(from: SeenHead, to: SeenHead): number {
  const waitedMs = to.at - from.at;
  if (from.timestamp === undefined || to.timestamp === undefined) return waitedMs;
  const ms = Number(to.timestamp - from.timestamp) * 1_000;
  const isPlausible = ms >= 0 && ms <= Number(to.number - from.number) * MAX_BLOCK_MS;
  return isPlausible ? ms : waitedMs;
}

/** The lag in blocks above which an upstream is skipped. */
export function maxLagOf(blockMs: number | undefined): number {
  return blockMs === undefined ? MAX_LAG_BLOCKS : Math.max(MAX_LAG_BLOCKS, Math.ceil(MAX_LAG_MS / blockMs));
}

/** Blocks by which a polled head was behind the network's head at the time of its poll. */
export function lagOfPolled(heads: readonly SeenHead[], { number, at }: SeenHead, blockMs = ROUND_MS * 4): number {
  return lagAt(heads, number, at + Math.min(ROUND_MS, blockMs / 4));
}

/** The same for a head that notifications keep up to date: a block reaches the upstreams within a second. */
export function lagOfNotified(heads: readonly SeenHead[], { number }: SeenHead, now: number): number {
  return lagAt(heads, number, now - ROUND_MS);
}

/** Blocks by which a number is below the network's head at a time. */
export function lagAt(heads: readonly SeenHead[], number: bigint, time: number): number {
  const head = heads.findLast(({ at }) => at <= time);
  return head === undefined || head.number <= number ? 0 : Number(head.number - number);
}
