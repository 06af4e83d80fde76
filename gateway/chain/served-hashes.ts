/** A hash is sent to the other workers once in a period. */
const PERIOD_MS = 30_000;
/** Periods for which a hash is remembered: for two at least, so that other workers have it for one after each response. */
const MAX_PERIODS = 3;
/** Maximum hashes of a period. */
const MAX_HASHES = 15_000;

interface Period {
  readonly startedAt: number;
  /** The hash of the block of each object, by the object's hash. */
  readonly blocks: ReadonlyMap<string, string>;
}

/**
 * Hashes of blocks and transactions that callers were served in the last 60 s, each with that of its block. A node that lacks a
 * block for longer is skipped because of its head.
 */
export class ServedHashes {
  #recent = new Map<string, string>();
  /** The current period, and those before, newest first. */
  #periods: readonly Period[] = [];
  /** One string for all objects of a block that are served in a row. */
  #block = '';

  /** @returns whether it is new in this period */
  add(hash: unknown, blockHash: unknown, now: number): boolean {
    if (typeof hash !== 'string' || typeof blockHash !== 'string') return false;
    const startedAt = this.#periods[0]?.startedAt ?? -Infinity;
    if (now - startedAt >= PERIOD_MS || this.#recent.size >= MAX_HASHES) {
      this.#recent = new Map();
      this.#periods = [{ startedAt: now, blocks: this.#recent }, ...this.#held(now)].slice(0, MAX_PERIODS);
    }
    if (this.#recent.get(hash) === blockHash) return false;
    if (blockHash !== this.#block) this.#block = blockHash;
    this.#recent.set(hash, this.#block);
    return true;
  }

  /** The hash of the block that was served, or in which the object was; undefined: none was. */
  blockOf(hash: string, now: number): string | undefined {
    for (const { blocks } of this.#held(now)) {
      const block = blocks.get(hash);
      if (block !== undefined) return block;
    }
    return undefined;
  }

  /** All hashes, for a worker that starts. */
  all(now: number): ReadonlyMap<string, string> {
    return new Map(
      this.#held(now)
        .toReversed()
        .flatMap(({ blocks }) => [...blocks]),
    );
  }

  /** Adds the hashes of another worker as an earlier period: this worker sends those that it serves itself. */
  adopt(blocks: ReadonlyMap<string, string>, now: number): void {
    this.#periods = [...this.#periods, { startedAt: now - PERIOD_MS, blocks }];
  }

  #held(now: number): readonly Period[] {
    return this.#periods.filter(({ startedAt }) => now - startedAt < MAX_PERIODS * PERIOD_MS);
  }
}
