import type { PolledHead } from './head-poll.ts';

const MAX_MOVES = 64;

/** Looks of one round come one after the other. On a quick network a block may lie between them. */
const ROUND_MS = 1_000;

/** Where the network's head was of late, and when: a lag is told of heads that were seen together only. */
export class HeadHistory {
  /** Oldest first. */
  readonly #moves: PolledHead[] = [];

  moved(head: PolledHead): void {
    this.#moves.push(head);
    if (this.#moves.length > MAX_MOVES) this.#moves.shift();
  }

  /** Blocks that a head was behind the network's when it was seen. */
  lagOf(polled: PolledHead, blockMs = ROUND_MS * 4): number {
    const deadline = polled.at + Math.min(ROUND_MS, blockMs / 4);
    const head = this.#moves.findLast(({ at }) => at <= deadline);
    return head === undefined || head.number <= polled.number ? 0 : Number(head.number - polled.number);
  }
}
