import type { Header } from './header.ts';

/**
 * One change of the chain. The last of `removed` and the first of `added` have the same parent. Exception: if a reorg goes
 * back further than all delivered blocks, `removed` has all of them, and `added` begins at the same height.
 */
export interface ChainChange {
  /** Newest first. Empty unless there is a reorg. */
  readonly removed: readonly Header[];
  /** Oldest first. */
  readonly added: readonly Header[];
  /**
   * There is a gap between the delivered blocks and `added`: more blocks were missed or removed than are fetched. `removed`
   * is empty. Subscribers continue from `added`.
   */
  readonly hasGap?: true;
  /** With `hasGap`: delivered blocks may be those of another chain, on which the upstream that reported them is. */
  readonly isOtherChain?: true;
}

/** The newest blocks of one network, on which its healthy upstreams agree. */
export interface CanonicalChain {
  /** The newest block that healthy upstreams have. Undefined until the network is used. */
  readonly head: Header | undefined;
  /** The newest block that callers and subscribers were served. */
  readonly newestServed: { readonly number: bigint };
  /** Time of the last poll or notification of the head, by performance.now(). */
  readonly seenAt: number;
  /** Another number after each time at which blocks may have been replaced unnoticed: a pause in polls, or a lower head. */
  readonly continuity: number;
  /** Another number after each sign that an upstream's head has been replaced since its last poll. */
  readonly headVersion: number;
  /** Since the last change of this chain, the newest served block was of another branch. */
  readonly isBranchUncertain: boolean;
  /** The header of one of the newest 512 blocks. There may be gaps while there is no watcher. */
  at(number: bigint): Header | undefined;
  /** Whether `at` has the block with this hash. */
  has(hash: string): boolean;
  /** Records that a block is final. A head below it is that of another chain. */
  recordFinal(number: bigint): void;
  /**
   * Adds a watcher. Changes are delivered in order; missing blocks are fetched first. The current head is not delivered.
   * @param listener must not throw
   * @returns removes the watcher
   */
  watch(listener: (change: ChainChange) => void): () => void;
  /**
   * The current head for a new watcher; the next change continues from it.
   * @returns undefined if no upstream returns the head within the timeout
   */
  waitForHead(timeoutMs: number): Promise<Header | undefined>;
  /** Resolves after the next change, or after the timeout. */
  waitForChange(timeoutMs: number): Promise<unknown>;
  /** Called for each use of the network: heads are followed for the next 3 minutes, at growing intervals. Cheap. */
  markUsed(now: number): void;
}
