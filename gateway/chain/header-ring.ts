import type { Header } from './header.ts';

/**
 * One change of the chain. The last of `removed` and the first of `added` have the same parent. Exception: if a reorg goes
 * back further than all known blocks, `removed` has all of them, and `added` begins below.
 */
export interface ChainChange {
  /** Removed headers, newest first. Empty unless there is a reorg. */
  readonly removed: readonly Header[];
  /** Added headers, oldest first. */
  readonly added: readonly Header[];
  /**
   * Whether there is a gap between the delivered blocks and `added`: more blocks were missed or removed than are fetched.
   * `removed` is empty. Subscribers continue from `added`.
   */
  readonly hasGap?: true;
  /** Whether, with `hasGap`, delivered blocks may be those of another chain, on which the upstream that reported them is. */
  readonly isOtherChain?: true;
}

/** The number of a followed block, and since when it is followed. */
export interface Place {
  readonly number: bigint;
  readonly since: number;
}

/** Consecutive headers, oldest first, each the parent of the next. Never changed: a change of the chain has another one. */
export class Headers {
  readonly list: readonly Header[];
  /** The places of these hashes, and of some that were here before. */
  readonly #places: ReadonlyMap<string, Place>;

  constructor(list: readonly Header[], places: ReadonlyMap<string, Place>) {
    this.list = list;
    this.#places = places;
  }

  get head(): Header | undefined {
    return this.list.at(-1);
  }

  get oldest(): Header | undefined {
    return this.list[0];
  }

  at(number: bigint): Header | undefined {
    const { oldest } = this;
    if (oldest === undefined || number < oldest.number) return undefined;
    return this.list[Number(number - oldest.number)];
  }

  has(hash: string): boolean {
    return this.numberOf(hash) !== undefined;
  }

  numberOf(hash: string): bigint | undefined {
    const number = this.#places.get(hash)?.number;
    return number !== undefined && this.at(number)?.hash === hash ? number : undefined;
  }

  /** When the block of this number began to be followed. */
  since(number: bigint): number {
    return this.#places.get(this.at(number)?.hash ?? '')?.since ?? Infinity;
  }
}

/** Holds the newest headers of one chain. It remembers as many that a reorg removed. */
export class HeaderRing {
  readonly #maxHeaders: number;
  readonly #places = new Map<string, Place>();
  /** Removed hashes, oldest first. */
  readonly #removed = new Set<string>();
  /** Headers: another object after each change. */
  headers = new Headers([], this.#places);

  constructor(maxHeaders: number) {
    this.#maxHeaders = maxHeaders;
  }

  /** Whether a reorg removed the block, or its parent, and it was not added again. */
  hasRemoved({ hash, parentHash }: Header): boolean {
    return this.#removed.has(hash) || this.#removed.has(parentHash);
  }

  /**
   * Appends a branch, and removes the blocks that it replaces: all blocks if the parent of its first block is not here.
   * @param branch oldest first, each the parent of the next
   * @param since time of the change
   */
  extend(branch: readonly Header[], since: number): ChainChange {
    return { removed: this.cutAbove(branch[0]?.parentHash ?? ''), added: this.#add(branch, since) };
  }

  /** Removes the blocks above a block. @returns the removed blocks, newest first */
  cutAbove(hash: string): Header[] {
    const { list } = this.headers;
    const end = list.findLastIndex((header) => header.hash === hash) + 1;
    const removed = list.slice(end).reverse();
    for (const header of removed) this.#removed.add(header.hash);
    for (const oldest of this.#removed) {
      if (this.#removed.size <= this.#maxHeaders) break;
      this.#removed.delete(oldest);
    }
    this.#replace(list.slice(0, end), removed);
    return removed;
  }

  /** Adds older blocks, unless the chain does not begin with their child any more. @param ancestors oldest first */
  prepend(ancestors: readonly Header[]): void {
    const { list } = this.headers;
    const [child] = list;
    if (child === undefined || child.parentHash !== ancestors.at(-1)?.hash) return;
    const since = this.headers.since(child.number);
    for (const { hash, number } of ancestors) this.#places.set(hash, { number, since });
    this.#replace([...ancestors, ...list].slice(-this.#maxHeaders), []);
  }

  clear(): void {
    this.#replace([], this.headers.list);
  }

  /** Removes all blocks and starts again with this one. */
  restartAt(header: Header, since: number): ChainChange {
    this.clear();
    return { removed: [], added: this.#add([header], since), hasGap: true };
  }

  #add(headers: readonly Header[], since: number): readonly Header[] {
    for (const { hash, number } of headers) {
      this.#places.set(hash, { number, since });
      this.#removed.delete(hash);
    }
    const list = [...this.headers.list, ...headers];
    this.#replace(list.slice(-this.#maxHeaders), list.slice(0, -this.#maxHeaders));
    return headers;
  }

  #replace(list: readonly Header[], dropped: readonly Header[]): void {
    for (const { hash } of dropped) this.#places.delete(hash);
    this.headers = new Headers(list, this.#places);
  }
}
