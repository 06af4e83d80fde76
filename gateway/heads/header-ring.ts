import type { ChainChange } from './canonical-chain.ts';
import type { Header } from './header.ts';

/** The newest headers of one chain, each the parent of the next. */
export class HeaderRing {
  readonly #max: number;
  /** Oldest first. */
  #headers: Header[] = [];
  readonly #hashes = new Set<string>();

  /** @param max how many are kept */
  constructor(max: number) {
    this.#max = max;
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

  /**
   * Goes on with a branch, and takes back what stood in its place: all of it where the first one's parent is not here.
   * @param branch oldest first, each the parent of the next
   */
  extend(branch: readonly Header[]): ChainChange {
    return { removed: this.cutAbove(branch[0]?.parentHash ?? ''), added: this.#add(branch) };
  }

  /** Takes back what is above a block. @returns that, newest first */
  cutAbove(hash: string): Header[] {
    const removed = this.#headers.splice(this.#headers.findIndex((header) => header.hash === hash) + 1).reverse();
    for (const header of removed) this.#hashes.delete(header.hash);
    return removed;
  }

  /** Forgets all and begins with this one. */
  restartAt(header: Header): ChainChange {
    this.#headers = [];
    this.#hashes.clear();
    return { removed: [], added: this.#add([header]), hasGap: true };
  }

  #add(headers: readonly Header[]): readonly Header[] {
    for (const header of headers) {
      this.#headers.push(header);
      this.#hashes.add(header.hash);
    }
    for (const dropped of this.#headers.splice(0, this.#headers.length - this.#max)) this.#hashes.delete(dropped.hash);
    return headers;
  }
}
