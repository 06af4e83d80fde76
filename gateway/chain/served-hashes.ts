/** A hash is remembered for one to two periods. A node that lacks a block for longer is skipped because of its head. */
const HASH_PERIOD_MS = 30_000;
const MAX_HASHES = 20_000;

/** Remembers the hashes of blocks and transactions that callers were served in the last minute, each with that of its block. */
export class ServedHashes {
  #recent = new Map<string, string>();
  #previous = new Map<string, string>();
  #startedAt = -Infinity;
  /** One string for all objects of a block that are served in a row. */
  #block = '';

  add(hash: unknown, blockHash: unknown, now: number): void {
    if (typeof hash !== 'string' || typeof blockHash !== 'string') return;
    if (now - this.#startedAt >= HASH_PERIOD_MS || this.#recent.size >= MAX_HASHES) {
      this.#previous = now - this.#startedAt < 2 * HASH_PERIOD_MS ? this.#recent : new Map<string, string>();
      this.#recent = new Map();
      this.#startedAt = now;
    }
    if (blockHash !== this.#block) this.#block = blockHash;
    this.#recent.set(hash, this.#block);
  }

  /** The hash of the block that was served, or in which the object was; undefined: none was. */
  blockOf(hash: string, now: number): string | undefined {
    const ageMs = now - this.#startedAt;
    const recent = ageMs < 2 * HASH_PERIOD_MS ? this.#recent.get(hash) : undefined;
    return recent ?? (ageMs < HASH_PERIOD_MS ? this.#previous.get(hash) : undefined);
  }
}
