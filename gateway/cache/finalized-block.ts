import type { CanonicalChain } from '../heads/canonical-chain.ts';

/** It moves every few minutes at most; where it moves more often, what is younger is kept by the chain. */
const REFRESH_MS = 30_000;

/** The newest block of a network that cannot be taken back, as a node told. Asked for only while it is needed. */
export class FinalizedBlock {
  readonly #fetch: () => Promise<unknown>;
  readonly #chain: CanonicalChain;
  #number = -1n;
  #refreshedAt = -Infinity;

  /** @param fetch for the block of the tag `finalized` */
  constructor(chain: CanonicalChain, fetch: () => Promise<unknown>) {
    this.#chain = chain;
    this.#fetch = fetch;
  }

  /** Whether a block of this number is final. Where that is not known yet, it is not. */
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
    // Nothing above what is there is final, whatever a node says, and nothing on another branch than ours: until we have
    // heard of the one that is, what we take for the chain is not.
    if (head !== undefined && number <= head.number && (canonical === undefined || canonical.hash === hash))
      this.#number = number;
  }
}

function blockOf(block: unknown): { readonly number: bigint; readonly hash: unknown } | undefined {
  const { number, hash } = (block ?? {}) as { number?: unknown; hash?: unknown };
  if (typeof number !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(number)) return undefined;
  return { number: BigInt(number), hash };
}

function ignore(): void {
  // Chains without finality answer with an error; then nothing is final.
}
