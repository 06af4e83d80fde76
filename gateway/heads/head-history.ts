import type { Look } from './look.ts';

const MOVES_MAX = 64;

/** Looks of one round come one after the other. On a quick network a block may lie between them. */
const TOGETHER_MS = 1_000;

/** Where the network's head was of late, and when: a lag is told of heads that were seen together only. */
export class HeadHistory {
  /** Oldest first. */
  readonly #moves: Look[] = [];

  moved(head: Look): void {
    this.#moves.push(head);
    if (this.#moves.length > MOVES_MAX) this.#moves.shift();
  }

  /** Blocks that a head was behind the network's when it was seen. */
  lagOf(look: Look, blockMs = TOGETHER_MS * 4): number {
    const until = look.at + Math.min(TOGETHER_MS, blockMs / 4);
    const head = this.#moves.findLast(({ at }) => at <= until);
    return head === undefined || head.number <= look.number ? 0 : Number(head.number - look.number);
  }
}
