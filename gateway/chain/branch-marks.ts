import type { Headers } from './header-ring.ts';
import type { Report, Standing } from './select-head.ts';

/** An upstream is marked when its branch has lost for so many blocks of the network, or for this time. */
const MARKED_AFTER_BLOCKS = 3n;
const MARKED_AFTER_MS = 30_000;
/** The same if it begins as many branches within these blocks. */
const COUNTED_BLOCKS = 6n;

/** A branch of an upstream that lost. */
interface LostBranch {
  readonly number: bigint;
  readonly hash: string | undefined;
  /** The network's head when it lost, and the time. */
  readonly head: bigint;
  readonly at: number;
}

/** Why an upstream is marked as being on another branch. */
export interface BranchMark {
  /** The first block of its branch. */
  readonly number: bigint;
  readonly at: number;
}

/** Decides by the branches of one upstream that lost whether it is marked. */
export class BranchMarks {
  /** Lost branches, oldest first. */
  #lost: LostBranch[] = [];
  /** Blocks that it replaced itself, before others are known to have blocks of their height. Oldest first. */
  #abandoned: readonly (readonly [bigint, string])[] = [];
  #isLosing = false;
  mark: BranchMark | undefined;

  /** Records blocks, by number, in place of which the upstream has others. */
  abandon(blocks: readonly (readonly [bigint, string])[]): void {
    if (blocks.length > 0) this.#abandoned = [...this.#abandoned, ...blocks].slice(-Number(COUNTED_BLOCKS));
  }

  /**
   * @param standing what the selection of the head found; undefined: it is on the followed branch, as far as is known
   * @param othersWith the number of other groups that have a block
   */
  update(
    { head, hashes }: Report,
    standing: Standing | undefined,
    followed: Headers,
    othersWith: (number: bigint, hash: string) => number,
    at: number,
  ): void {
    const newest = followed.head?.number ?? 0n;
    this.#abandoned = this.#abandoned.filter(([number, hash]) => {
      const known = followed.at(number)?.hash;
      if (othersWith(number, hash) > 0) return false;
      if (known === undefined || known === hash || othersWith(number, known) < 2)
        return number + COUNTED_BLOCKS > newest;
      this.#lost.push({ number, hash, head: newest, at });
      return false;
    });
    // A branch that is followed since did not lose: this upstream had it first.
    this.#lost = this.#lost.filter(({ number, hash }) => {
      return number + COUNTED_BLOCKS > newest && (hash === undefined || followed.at(number)?.hash !== hash);
    });
    const { leftAt } = standing ?? {};
    const isLosing = leftAt !== undefined && standing?.hasLost === true;
    const last = this.#lost.at(-1);
    if (isLosing && (!this.#isLosing || last === undefined || last.number < leftAt))
      this.#lost.push({ number: leftAt, hash: hashes.get(leftAt), head: newest, at });
    this.#isLosing = isLosing;
    const due = this.#lost.at(-1);
    if (due !== undefined && this.#isDue(due, newest, at)) this.mark ??= { number: due.number, at };
    else if (!isLosing && this.#isBack(head, followed)) this.mark = undefined;
  }

  #isDue(last: LostBranch, newest: bigint, at: number): boolean {
    const numbers = new Set(this.#lost.map(({ number }) => number));
    if (BigInt(numbers.size) >= MARKED_AFTER_BLOCKS) return true;
    return this.#isLosing && (newest - last.head + 1n >= MARKED_AFTER_BLOCKS || at - last.at >= MARKED_AFTER_MS);
  }

  /** Whether the upstream's newest block is followed, and it began no other branch lately. */
  #isBack({ number, header }: Report['head'], followed: Headers): boolean {
    if (this.mark === undefined || number < this.mark.number || this.#lost.length > 1) return false;
    return header !== undefined && followed.at(number)?.hash === header.hash;
  }
}
