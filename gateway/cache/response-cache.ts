import { LRUCache } from 'lru-cache';

/** What was kept, in place of a reply. */
export interface CachedResponse {
  readonly kind: 'cached';
  /** As JSON. */
  readonly result: string | Buffer;
}

/** A result, ready to be sent under any id, and how long it is true. */
export interface CacheEntry {
  /** As JSON: text, or bytes where it came so. */
  readonly result: string | Buffer;
  readonly validity: Validity;
}

/** For good; or while a block is the network's head, or one of its chain: for good, once the number `final` is. */
export type Validity =
  | { readonly while: 'always' }
  | { readonly while: 'head'; readonly hash: string; readonly deadline: number }
  | { readonly while: 'canonical'; readonly hash: string; readonly final: bigint | undefined };

/** Bytes beside key and result, about. */
const ENTRY_OVERHEAD_BYTES = 300;

/** A single answer may take that share of all. */
const MAX_ENTRY_SHARE = 16;

/** Answers of all networks, the least used of which go first when there are too many. */
export class ResponseCache {
  readonly #entries: LRUCache<string, CacheEntry>;

  constructor(maxBytes: number) {
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      maxEntrySize: Math.ceil(maxBytes / MAX_ENTRY_SHARE),
      sizeCalculation: ({ result }, key) => result.length + key.length + ENTRY_OVERHEAD_BYTES,
    });
  }

  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key);
  }

  set(key: string, entry: CacheEntry): void {
    this.#entries.set(key, entry);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get counts(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries.size, bytes: this.#entries.calculatedSize };
  }
}
