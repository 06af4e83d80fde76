/** Time for which an upstream with an older safe or finalized block is skipped. Those blocks are not polled. */
const BEHIND_TTL_MS = 12_000;

/** Tracks the newest served block of one tag, and the upstreams that are behind it. */
export class NewestTagged<U extends object> {
  #number = -1n;
  readonly #behindUntil = new WeakMap<U, number>();

  record(upstream: U, number: bigint, now: number): void {
    if (number < this.#number) this.#behindUntil.set(upstream, now + BEHIND_TTL_MS);
    else {
      this.#number = number;
      this.#behindUntil.delete(upstream);
    }
  }

  /** The number, unless the chain is shorter: it started anew. @param head of the network; undefined: not known */
  numberUpTo(head: bigint | undefined): bigint {
    if (head !== undefined && this.#number > head) this.#number = -1n;
    return this.#number;
  }

  isBehind(upstream: U, now: number): boolean {
    return now < (this.#behindUntil.get(upstream) ?? -Infinity);
  }
}
