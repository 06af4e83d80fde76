import type { ConsistencyChecker } from './consistency-checker.ts';
import { commonAncestor, type TrueBlock } from './true-chain.ts';

/** Checks the heads of one subscription or block filter: each once, after its parent, replaced only by another branch. */
export class DeliveredHeads {
  readonly #checker: ConsistencyChecker;
  readonly #of: string;
  /** The number of the true head when the subscription was confirmed. Heads above it must be delivered. */
  readonly #startedAbove: number;
  /** The delivered blocks that were not replaced, oldest first. */
  #chain: TrueBlock[] = [];

  constructor(checker: ConsistencyChecker, of: string, at: number) {
    this.#checker = checker;
    this.#of = of;
    this.#startedAbove = checker.history.headAt(at).number;
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
      this.#chain.splice(parentAt + 1, Infinity, block);
      return;
    }
    if (!this.#mayFollowAll(block)) {
      const last = this.#chain.at(-1);
      this.#violate(
        'head-missing',
        at,
        last === undefined ? `block ${this.#startedAbove + 1}` : `a successor of ${describe(last)}`,
        describe(block),
      );
    }
    this.#chain = [block];
  }

  /** Whether the block is delivered, and was not replaced. */
  has(block: TrueBlock): boolean {
    return this.#chain.includes(block);
  }

  /** At the end of the run, when all nodes have been healthy for a while. @param newest the head that must be delivered */
  finish(newest: TrueBlock, at: number): void {
    if (newest.number <= this.#startedAbove || this.has(newest)) return;
    this.#violate('head-missing', at, describe(newest), describe(this.#chain.at(-1)));
  }

  /** Whether a block without its parent is delivered: the first one, or after a reorg of all delivered blocks. */
  #mayFollowAll(block: TrueBlock): boolean {
    const [oldest] = this.#chain;
    if (oldest === undefined) return block.number <= this.#startedAbove + 1;
    const fork = commonAncestor(oldest, block);
    // A chain that starts again from genesis has no reorg: the gateway continues at the head.
    return fork !== oldest && (block.number <= oldest.number || fork.number === 0);
  }

  #violate(kind: 'wrong' | 'head-twice' | 'head-missing', at: number, expected: string, came: string): void {
    this.#checker.violate(kind, { at, of: this.#of }, expected, came);
  }
}

export function describe(block: TrueBlock | undefined): string {
  return block === undefined ? 'none' : `${block.number} ${block.hash.slice(0, 10)}`;
}
