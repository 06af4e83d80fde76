import type { PolledHead } from './polled-head.ts';

const MAX_HEADS = 64;

/** Polls of one round end at different times, and on a fast network there may be a block between them. */
const ROUND_MS = 1_000;

/** Remembers the network's latest heads with their times, so that the lag of an upstream compares heads of the same time. */
export class HeadHistory {
  /** Oldest first. */
  readonly #heads: PolledHead[] = [];

  add(head: PolledHead): void {
    this.#heads.push(head);
    if (this.#heads.length > MAX_HEADS) this.#heads.shift();
  }

  /** Blocks by which a polled head was behind the network's head at the time of its poll. */
  lagOf(polled: PolledHead, blockMs = ROUND_MS * 4): number {
    const comparedAt = polled.at + Math.min(ROUND_MS, blockMs / 4);
    const head = this.#heads.findLast(({ at }) => at <= comparedAt);
    return head === undefined || head.number <= polled.number ? 0 : Number(head.number - polled.number);
  }
}
