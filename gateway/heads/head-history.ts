import type { PolledHead } from './polled-head.ts';

const MAX_HEADS = 64;

/** Polls of one round end at different times, and on a fast network there may be a block between them. */
const ROUND_MS = 1_000;

/** Remembers the network's latest heads with their times, so that the lag of an upstream compares heads of the same time. */
export class HeadHistory {
  /** Oldest first. */
  readonly #heads: PolledHead[] = [];

  /** @param head of the last number: its time stays that of the first one */
  add(head: PolledHead): void {
    if (this.#heads.at(-1)?.number === head.number) return;
    this.#heads.push(head);
    if (this.#heads.length > MAX_HEADS) this.#heads.shift();
  }

  /** Blocks by which a polled head was behind the network's head at the time of its poll. */
  lagOf({ number, at }: PolledHead, blockMs = ROUND_MS * 4): number {
    return this.lagAt(number, at + Math.min(ROUND_MS, blockMs / 4));
  }

  /** The same for a head that notifications keep up to date: a block reaches the upstreams within a second. */
  lagNow(number: bigint, now: number): number {
    return this.lagAt(number, now - ROUND_MS);
  }

  /** Blocks by which a number is below the network's head at a time. */
  lagAt(number: bigint, time: number): number {
    const head = this.#heads.findLast(({ at }) => at <= time);
    return head === undefined || head.number <= number ? 0 : Number(head.number - number);
  }
}
