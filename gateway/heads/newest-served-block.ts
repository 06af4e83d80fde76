import type { PolledHead } from './polled-head.ts';
import { highestPlausible } from './select-head.ts';

/** After this time the polls of all upstreams have reached a served block, or the number was wrong. */
const MAX_ABOVE_HEAD_MS = 15_000;

/**
 * Holds the number of the newest block of one network that callers and subscribers were served, for the cache and for
 * routing. It rises with each served block, and falls only when the upstreams agree on a lower head. It may be above the
 * network's head for 15 s, because a response can be newer than the last poll.
 */
export class NewestServedBlock {
  #number = 0n;
  #recordedAt = -Infinity;
  #head: PolledHead | undefined;
  #blockMs: number | undefined;

  /** 0: no block was served. */
  get number(): bigint {
    return this.#number;
  }

  /** A caller or a subscriber is served a block. A number far above the network's head is wrong, and is ignored. */
  record(number: bigint, now: number): void {
    if (number <= this.#number) return;
    if (this.#head !== undefined && number > highestPlausible(this.#head, now, this.#blockMs)) return;
    this.#number = number;
    this.#recordedAt = now;
  }

  /** The chain was changed by a request, and may be shorter now. */
  forget(): void {
    this.#number = 0n;
  }

  /**
   * The network has a new head.
   * @param blockMs time between blocks, if known
   * @param hasFallen the upstreams agree that the chain is shorter than before
   */
  follow(head: PolledHead, blockMs: number | undefined, hasFallen: boolean): void {
    this.#head = head;
    this.#blockMs = blockMs;
    // Also if the first served number, with which nothing could be compared, was wrong.
    const isWrong = head.at - this.#recordedAt > MAX_ABOVE_HEAD_MS;
    const highest = hasFallen || isWrong ? head.number : highestPlausible(head, head.at, blockMs);
    if (this.#number > highest) this.#number = head.number;
  }
}
