import type { ChainChange } from './canonical-chain.ts';
import type { Header } from './header.ts';

/** Holds the newest headers of one chain, each the parent of the next. It remembers as many that a reorg removed. */
export class HeaderRing {
  readonly #maxHeaders: number;
  /** Oldest first. */
  #headers: Header[] = [];
  readonly #hashes = new Set<string>();
  /** Oldest first. */
  readonly #removed = new Set<string>();

  constructor(maxHeaders: number) {
    this.#maxHeaders = maxHeaders;
  }

  get head(): Header | undefined {
    return this.#headers.at(-1);
  }

  get oldest(): Header | undefined {
    return this.#headers[0];
  }

  at(number: bigint): Header | undefined {
    const { oldest } = this;
    if (oldest === undefined || number < oldest.number) return undefined;
    return this.#headers[Number(number - oldest.number)];
  }

  has(hash: string): boolean {
    return this.#hashes.has(hash);
  }

  /** Whether a reorg removed the block, or its parent, and it was not added again. */
  hasRemoved({ hash, parentHash }: Header): boolean {
    return this.#removed.has(hash) || this.#removed.has(parentHash);
  }

  /**
   * Appends a branch, and removes the blocks that it replaces: all blocks if the parent of its first block is not here.
   * @param branch oldest first, each the parent of the next
   */
  extend(branch: readonly Header[]): ChainChange {
    return { removed: this.cutAbove(branch[0]?.parentHash ?? ''), added: this.#add(branch) };
  }

  /** Removes the blocks above a block. @returns the removed blocks, newest first */
  cutAbove(hash: string): Header[] {
    const removed = this.#headers.splice(this.#headers.findIndex((header) => header.hash === hash) + 1).reverse();
    for (const { hash: removedHash } of removed) {
      this.#hashes.delete(removedHash);
      this.#removed.add(removedHash);
    }
    for (const oldest of this.#removed) {
      if (this.#removed.size <= this.#maxHeaders) break;
      this.#removed.delete(oldest);
    }
    return removed;
  }

  clear(): void {
    this.#headers = [];
    this.#hashes.clear();
  }

  /** Removes all blocks and starts again with this one. */
  restartAt(header: Header): ChainChange {
    this.clear();
    return { removed: [], added: this.#add([header]), hasGap: true };
  }

  #add(headers: readonly Header[]): readonly Header[] {
    for (const header of headers) {
      this.#headers.push(header);
      this.#hashes.add(header.hash);
      this.#removed.delete(header.hash);
    }
    for (const dropped of this.#headers.splice(0, this.#headers.length - this.#maxHeaders))
      this.#hashes.delete(dropped.hash);
    return headers;
  }
}
