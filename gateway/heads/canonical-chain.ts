import type { Header } from './header.ts';

/**
 * How the chain went on. `removed` ends and `added` begins at children of one block, but where a reorganisation goes
 * back to before what was ever told: then everything told is removed, and `added` begins at that height.
 */
export interface ChainChange {
  /** Newest first. Empty but at a reorganisation. */
  readonly removed: readonly Header[];
  /** Oldest first. */
  readonly added: readonly Header[];
  /**
   * `added` does not go on from what was told before: so many blocks were missed, or taken back, that what lies between
   * is not told. `removed` is empty. Whoever tells others goes on from here.
   */
  readonly hasGap?: true;
}

/** One network's newest blocks, as its healthy upstreams agree on them. */
export interface CanonicalChain {
  /** What the healthy upstreams cluster at; not above what can be served. Undefined until the network is used. */
  readonly head: Header | undefined;
  /** When an upstream last told the head, on the clock of performance.now(). What happened since nobody knows. */
  readonly seenAt: number;
  /** Of the newest few hundred, and without gaps only while somebody watches. */
  at(number: bigint): Header | undefined;
  /** Whether a block is among those that `at` knows. */
  has(hash: string): boolean;
  /**
   * Follows the network while somebody watches. Changes come in order, without gaps: missing blocks are fetched first.
   * The head of that moment is not told. What the listener throws is nobody's: it must not.
   * @returns stops it
   */
  watch(listener: (change: ChainChange) => void): () => void;
  /**
   * The head as it is now, for who has just begun to watch: changes go on from it.
   * @returns undefined when no upstream tells it in that time
   */
  current(timeoutMs: number): Promise<Header | undefined>;
  /** The network was used: heads are followed for some minutes from now on, if only coarsely. Cheap. */
  markUsed(now: number): void;
}
