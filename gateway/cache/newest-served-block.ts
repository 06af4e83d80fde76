/** By then the head was looked at, and is not below what was true. */
const TTL_MS = 15_000;

/**
 * The newest block of a network that a caller was told of. Who has seen a receipt in it must not be told of the state
 * before it, though the head was not looked at since.
 */
export class NewestServedBlock {
  #number = -1n;
  #expiresAt = -Infinity;

  /** @param head the newest block that is known by its hash */
  record(number: bigint, head: bigint, now: number): void {
    if (number <= head || (number <= this.#number && now < this.#expiresAt)) return;
    this.#number = number;
    this.#expiresAt = now + TTL_MS;
  }

  isAbove(head: bigint, now: number): boolean {
    return this.#number > head && now < this.#expiresAt;
  }
}
