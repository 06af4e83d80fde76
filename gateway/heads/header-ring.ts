import type { ChainChange } from './canonical-chain.ts';
import type { Header } from './header.ts';

/** The newest headers of one chain, each the parent of the next. */
export class HeaderRing {
  readonly #max: number;
  /** Oldest first. */
  #headers: Header[] = [];
  readonly #byHash = new Map<string, Header>();

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
    return this.#byHash.has(hash);
  }

  /**
   * Goes on with a branch whose first header's parent is in the ring: what stood there is removed.
   * @param branch oldest first, each the parent of the next
   */
  goOn(branch: readonly Header[]): ChainChange {
    const parent = branch[0] && this.#byHash.get(branch[0].parentHash);
    if (parent === undefined) throw new Error('the branch does not begin in the ring');
    return { removed: this.cutAbove(parent), added: this.#add(branch) };
  }

  /** Takes back what is above a header of the ring. @returns that, newest first */
  cutAbove({ hash }: Header): Header[] {
    const from = this.#headers.findIndex((header) => header.hash === hash) + 1;
    const removed = this.#headers.splice(from).reverse();
    for (const header of removed) this.#byHash.delete(header.hash);
    return removed;
  }

  /** Forgets all and begins with this one. */
  startAfresh(header: Header): ChainChange {
    this.#headers = [];
    this.#byHash.clear();
    return { removed: [], added: this.#add([header]), isFresh: true };
  }

  #add(headers: readonly Header[]): readonly Header[] {
    for (const header of headers) {
      this.#headers.push(header);
      this.#byHash.set(header.hash, header);
    }
    for (const dropped of this.#headers.splice(0, this.#headers.length - this.#max)) this.#byHash.delete(dropped.hash);
    return headers;
  }
}
