/** The head is polled at least this often, so that it has reached the served block by then. */
const TTL_MS = 15_000;

/**
 * Records the newest block that a response of the network contained. The cache must not return state of an older head after
 * a caller got, for example, a receipt in that block. The polled head may still be below it.
 */
export class NewestServedBlock {
  #number = -1n;
  #expiresAt = -Infinity;

  /** @param head number of the canonical head */
  record(number: bigint, head: bigint, now: number): void {
    if (number <= head || (number <= this.#number && now < this.#expiresAt)) return;
    this.#number = number;
    this.#expiresAt = now + TTL_MS;
  }

  isAbove(head: bigint, now: number): boolean {
    return this.#number > head && now < this.#expiresAt;
  }
}
