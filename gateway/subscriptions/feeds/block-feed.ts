import type { ChainChange } from '../../chain/header-ring.ts';
import type { Header } from '../../chain/header.ts';
import type { WatchedChain } from '../../chain/poller.ts';
import type { Subscriber, Unsubscribe } from './subscriber.ts';

/** Limit of blocks that wait for their contents. Above it, all subscribers get a gap. */
const MAX_WAITING_BLOCKS = 1_000;

/** A block of the chain, in the order in which blocks were added. */
export interface AddedBlock {
  readonly header: Header;
  /** Counts the blocks added since the feed was created; not the block number of the chain. */
  readonly number: number;
}

/** An added or removed block that is not delivered yet. */
type BlockChange<T> =
  (AddedBlock & { contents: Promise<T | undefined> | undefined; isCancelled: boolean }) | { readonly removed: string };

/**
 * Feed of what each new block contains, fetched once for all subscribers and delivered in the order of blocks. If no upstream
 * returns the contents of a block, all subscribers get a gap.
 */
export abstract class BlockFeed<T> {
  readonly #chain: Pick<WatchedChain, 'watch'>;
  readonly #maxFetches: number;
  readonly #waiting: BlockChange<T>[] = [];
  #isDelivering = false;
  #delivery: Promise<void> | undefined;
  #stopWatching: Unsubscribe | undefined;
  /** The number of the last added block. A subscriber gets only later ones, and removals of those. */
  protected addedBlocks = 0;

  /** @param maxFetches blocks whose contents are requested at the same time */
  constructor(chain: Pick<WatchedChain, 'watch'>, maxFetches: number) {
    this.#chain = chain;
    this.#maxFetches = maxFetches;
  }

  protected abstract subscribers(): Subscriber[];
  /** Contents of a block. Undefined: no upstream returns them. Never rejects. @param isNeeded false ends it with any result */
  protected abstract fetch(header: Header, isNeeded: () => boolean): Promise<T | undefined>;
  protected abstract deliver(block: AddedBlock, contents: T): Promise<void>;
  /**
   * A block is removed whose delivery has begun. Undefined: removals are not delivered.
   * @returns false: what was delivered is not known any more
   */
  protected deliverRemoved?(hash: string): Promise<boolean>;

  /** Resolves when all blocks are delivered. Undefined: they are. */
  get delivery(): Promise<void> | undefined {
    return this.#isDelivering ? this.#delivery : undefined;
  }

  /** A subscriber has joined. @param leave removes it, and returns the number of the others */
  protected joined(leave: () => number): Unsubscribe {
    this.#stopWatching ??= this.#chain.watch((change) => {
      this.#handleChange(change);
    });
    return () => {
      if (leave() > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
      this.reset();
    };
  }

  /** Forgets what was added and delivered. */
  protected reset(): void {
    for (const change of this.#waiting) if ('header' in change) change.isCancelled = true;
    this.#waiting.length = 0;
  }

  #handleChange({ removed, added, hasGap, isOtherChain }: ChainChange): void {
    if (hasGap === true) {
      this.#reportGap(isOtherChain === true ? 'other-chain' : 'missed-blocks');
      return;
    }
    for (const { hash } of removed) this.#handleRemoved(hash);
    for (const header of added)
      this.#waiting.push({ header, number: ++this.addedBlocks, contents: undefined, isCancelled: false });
    if (this.#waiting.length > MAX_WAITING_BLOCKS) this.#reportGap();
    else if (this.#isDelivering) this.#startFetches();
    else this.#delivery = this.#deliverAll();
  }

  /** A block whose delivery has not begun is only cancelled. Waiting blocks are newer than delivered ones, so it is the last. */
  #handleRemoved(hash: string): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && 'header' in last && last.header.hash === hash) {
      last.isCancelled = true;
      this.#waiting.pop();
    } else if (this.deliverRemoved !== undefined) this.#waiting.push({ removed: hash });
  }

  #startFetches(): void {
    for (const change of this.#waiting.slice(0, this.#maxFetches))
      if ('header' in change) change.contents ??= this.fetch(change.header, () => !change.isCancelled);
  }

  /** Delivers all changes that wait, and never rejects. */
  async #deliverAll(): Promise<void> {
    this.#isDelivering = true;
    for (let change = this.#waiting[0]; change !== undefined; change = this.#waiting[0]) {
      this.#startFetches();
      if ('removed' in change) {
        this.#waiting.shift();
        this.#startFetches();
        if ((await this.deliverRemoved?.(change.removed)) === false) this.#reportGap();
        continue;
      }
      const contents = await change.contents;
      // The block was removed, or the feed was reset, in the meantime.
      if (change !== this.#waiting[0]) continue;
      if (contents === undefined) {
        this.#reportGap();
        continue;
      }
      // From now on, the removal of the block is a change of its own.
      this.#waiting.shift();
      this.#startFetches();
      await this.deliver(change, contents);
    }
    this.#isDelivering = false;
  }

  #reportGap(reason: 'missed-blocks' | 'other-chain' = 'missed-blocks'): void {
    for (const subscriber of this.subscribers()) subscriber.markGap(reason);
    this.reset();
  }
}
