/** Tags of which the newest served block is known. The one of `latest` is the newest served block. */
export type FinalTag = 'safe' | 'finalized';

/** The newest served block of a tag, and when each upstream last returned an older one. */
export interface TaggedBlock<U> {
  readonly number: bigint;
  readonly olderAt: ReadonlyMap<U, number>;
}

const tags = ['safe', 'finalized'] as const satisfies readonly FinalTag[];

/** Holds the newest blocks that callers of one network were served for the tags `safe` and `finalized`. */
export class ServedTags<U> {
  /** Blocks of the tags: another object after each change. */
  blocks: Readonly<Record<FinalTag, TaggedBlock<U>>> = {
    safe: { number: -1n, olderAt: new Map() },
    finalized: { number: -1n, olderAt: new Map() },
  };

  record(upstream: U, number: bigint, tag: FinalTag, at: number): void {
    const { number: newest, olderAt } = this.blocks[tag];
    if (number === newest && !olderAt.has(upstream)) return;
    const older = new Map(olderAt);
    if (number < newest) older.set(upstream, at);
    else older.delete(upstream);
    this.#set(tag, { number: number > newest ? number : newest, olderAt: older });
  }

  /** Another worker has served these blocks. */
  raise(numbers: Readonly<Record<FinalTag, bigint>>): void {
    for (const tag of tags)
      if (numbers[tag] > this.blocks[tag].number) this.#set(tag, { ...this.blocks[tag], number: numbers[tag] });
  }

  /** Blocks above this number were served before the head fell, or was known. */
  dropAbove(number: bigint): void {
    for (const tag of tags) if (this.blocks[tag].number > number) this.#set(tag, { number: -1n, olderAt: new Map() });
  }

  /** Forgets the upstreams that were removed. */
  retain(upstreams: ReadonlyMap<U, unknown>): void {
    for (const tag of tags) {
      const { number, olderAt } = this.blocks[tag];
      this.#set(tag, { number, olderAt: new Map([...olderAt].filter(([upstream]) => upstreams.has(upstream))) });
    }
  }

  #set(tag: FinalTag, block: TaggedBlock<U>): void {
    this.blocks = { ...this.blocks, [tag]: block };
  }
}
