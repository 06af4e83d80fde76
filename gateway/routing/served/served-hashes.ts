/** A hash is remembered for one to two periods. A node that lacks a block for longer is skipped because of its head. */
const HASH_PERIOD_MS = 30_000;
const MAX_HASHES = 20_000;

/** Remembers the hashes of blocks and transactions that callers were served in the last minute. */
export class ServedHashes {
  #recent = new Set<string>();
  #previous = new Set<string>();
  #startedAt = -Infinity;

  add(hash: unknown, now: number): void {
    if (typeof hash !== 'string') return;
    if (now - this.#startedAt >= HASH_PERIOD_MS || this.#recent.size >= MAX_HASHES) {
      this.#previous = now - this.#startedAt < 2 * HASH_PERIOD_MS ? this.#recent : new Set();
      this.#recent = new Set();
      this.#startedAt = now;
    }
    this.#recent.add(hash);
  }

  has(hash: string, now: number): boolean {
    const ageMs = now - this.#startedAt;
    return (
      (ageMs < 2 * HASH_PERIOD_MS && this.#recent.has(hash)) || (ageMs < HASH_PERIOD_MS && this.#previous.has(hash))
    );
  }
}
