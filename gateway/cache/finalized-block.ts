import type { CanonicalChain } from '../heads/canonical-chain.ts';

/** Most chains finalise every few minutes. Between refreshes, entries for newer blocks are valid while canonical. */
const REFRESH_MS = 30_000;

/** Tracks the newest final block of one network. It is fetched from an upstream, and only while calls need it. */
export class FinalizedBlock {
  readonly #fetch: () => Promise<unknown>;
  readonly #chain: CanonicalChain;
  #number = -1n;
  #refreshedAt = -Infinity;

  /** @param fetch fetches the block of the tag `finalized` */
  constructor(chain: CanonicalChain, fetch: () => Promise<unknown>) {
    this.#chain = chain;
    this.#fetch = fetch;
  }

  /** Whether the block with this number is final; false while this is unknown. */
  includes(number: bigint, now: number): boolean {
    if (number <= this.#number) return true;
    if (this.#chain.head !== undefined && now - this.#refreshedAt >= REFRESH_MS) {
      this.#refreshedAt = now;
      this.#refresh().catch(ignore);
    }
    return false;
  }

  async #refresh(): Promise<void> {
    const { number, hash } = blockOf(await this.#fetch()) ?? {};
    if (number === undefined || number <= this.#number) return;
    const { head } = this.#chain;
    const canonical = this.#chain.at(number);
    // Reject blocks above the head, and blocks that differ from the canonical chain: the upstream may be on another branch.
    if (head !== undefined && number <= head.number && (canonical === undefined || canonical.hash === hash)) {
      this.#number = number;
      this.#chain.recordFinal(number);
    }
  }
}

function blockOf(block: unknown): { readonly number: bigint; readonly hash: unknown } | undefined {
  const { number, hash } = (block ?? {}) as { number?: unknown; hash?: unknown };
  if (typeof number !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(number)) return undefined;
  return { number: BigInt(number), hash };
}

function ignore(): void {
  // Chains without finality return an error: then no block is final.
}
