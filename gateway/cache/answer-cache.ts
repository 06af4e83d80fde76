import { LRUCache } from 'lru-cache';

/** What was kept, in place of a reply. */
export interface KeptReply {
  readonly kind: 'kept';
  /** As JSON. */
  readonly result: string | Buffer;
}

/** A result, ready to be sent under any id, and how long it is true. */
export interface Kept {
  /** As JSON: text, or bytes where it came so. */
  readonly result: string | Buffer;
  readonly holds: Holds;
}

/** For good; or while a block is the network's head, or one of its chain. */
export type Holds =
  | { readonly while: 'always' }
  | { readonly while: 'head'; readonly hash: string; readonly number: bigint | undefined; readonly until: number }
  | { readonly while: 'canonical'; readonly hash: string; readonly number: bigint | undefined; readonly until: number };

/** Bytes beside key and result, about. */
const ENTRY_BYTES = 300;

/** A single answer may take that share of all. */
const LARGEST_SHARE = 16;

/** Answers of all networks, the least used of which go first when there are too many. */
export class AnswerCache {
  readonly #kept: LRUCache<string, Kept>;

  constructor(maxBytes: number) {
    this.#kept = new LRUCache({
      maxSize: maxBytes,
      maxEntrySize: Math.ceil(maxBytes / LARGEST_SHARE),
      sizeCalculation: ({ result }, key) => result.length + key.length + ENTRY_BYTES,
    });
  }

  get(key: string): Kept | undefined {
    return this.#kept.get(key);
  }

  set(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  get counts(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#kept.size, bytes: this.#kept.calculatedSize };
  }
}
