import type { PolledHead } from './polled-head.ts';
import { highestPlausible } from './select-head.ts';

/**
 * Holds the number of the newest block of one network that callers and subscribers were served, for the cache and for
 * routing. It rises with each served block, and falls only when the upstreams agree on a lower head. It may be above the
 * network's head, because a response can be newer than the last poll.
 */
export class NewestServedBlock {
  #number = 0n;
  #head: PolledHead | undefined;
  #blockMs: number | undefined;

  /** 0: no block was served. */
  get number(): bigint {
    return this.#number;
  }

  /** A caller or a subscriber is served a block. A number far above the network's head is wrong, and is ignored. */
  record(number: bigint, now: number): void {
    if (number <= this.#number) return;
    if (this.#head === undefined || number <= highestPlausible(this.#head, now, this.#blockMs)) this.#number = number;
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
    const highest = hasFallen ? head.number : highestPlausible(head, head.at, blockMs);
    if (this.#number > highest) this.#number = head.number;
  }
}
