import type { ConsistencyChecker } from './consistency-checker.ts';
import { commonAncestor, type TrueBlock } from './true-chain.ts';

/** Checks the heads of one subscription or block filter: each once, after its parent, replaced only by another branch. */
export class DeliveredHeads {
  readonly #checker: ConsistencyChecker;
  readonly #of: string;
  /** Time when the subscription was confirmed. */
  readonly #startedAt: number;
  /** The delivered blocks that were not replaced, oldest first. */
  #chain: TrueBlock[] = [];

  constructor(checker: ConsistencyChecker, of: string, at: number) {
    this.#checker = checker;
    this.#of = of;
    this.#startedAt = at;
  }

  add(hash: unknown, at: number): void {
    const block = this.#checker.history.blocks.get(String(hash));
    if (block === undefined) {
      this.#violate('wrong', at, 'a block', String(hash));
      return;
    }
    this.#checker.recordDelivered(block, at);
    this.#checker.servedObjects.addHead(block, at);
    if (this.#chain.includes(block)) {
      this.#violate('head-twice', at, `a successor of ${describe(this.#chain.at(-1))}`, describe(block));
      return;
    }
    const parentAt = this.#chain.lastIndexOf(block.parent as TrueBlock);
    if (parentAt !== -1) {
      this.#replace(parentAt + 1, block);
      return;
    }
    if (!this.#mayFollowAll(block, at)) {
      const last = this.#chain.at(-1);
      this.#violate(
        'head-missing',
        at,
        last === undefined ? `block ${this.#startedAbove(block, at) + 1}` : `a successor of ${describe(last)}`,
        describe(block),
      );
    }
    this.#replace(0, block);
  }

  #replace(index: number, block: TrueBlock): void {
    for (const replaced of this.#chain.splice(index, Infinity, block)) this.#checker.servedObjects.removeHead(replaced);
  }

  /** Whether the block is delivered, and was not replaced. */
  has(block: TrueBlock): boolean {
    return this.#chain.includes(block);
  }

  /** Check at the end of the run, when all nodes have been healthy for a while. @param newest the head that must be delivered */
  finish(newest: TrueBlock, at: number): void {
    if (newest.number <= this.#startedAbove(newest, at) || this.has(newest)) return;
    this.#violate('head-missing', at, describe(newest), describe(this.#chain.at(-1)));
  }

  /** Whether a block without its parent is delivered: the first one, or after a reorg of all delivered blocks. */
  #mayFollowAll(block: TrueBlock, at: number): boolean {
    const [oldest] = this.#chain;
    const isFirst = block.number <= this.#startedAbove(block, at) + 1;
    if (oldest === undefined) return isFirst;
    const fork = commonAncestor(oldest, block);
    // A chain that starts again from genesis has no reorg: the gateway continues at the head.
    return fork !== oldest && ((isFirst && block.number <= oldest.number) || fork.number === 0);
  }

  /** Heads above this number must be delivered. */
  #startedAbove(block: TrueBlock, at: number): number {
    return this.#checker.history.deliveredAbove(this.#startedAt, block, at);
  }

  #violate(kind: 'wrong' | 'head-twice' | 'head-missing', at: number, expected: string, came: string): void {
    this.#checker.violate(kind, { at, of: this.#of }, expected, came);
  }
}

export function describe(block: TrueBlock | undefined): string {
  return block === undefined ? 'none' : `${block.number} ${block.hash.slice(0, 10)}`;
}
