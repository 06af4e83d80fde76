import { LRUCache } from 'lru-cache';
import type { Proof } from '../jsonrpc/proof.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** A cached result, in place of an upstream response. */
export interface CachedResponse {
  readonly kind: 'cached';
  /** As JSON. */
  readonly result: string | Buffer;
  /** Undefined: it was not verified. */
  readonly proof?: Proof | undefined;
}

/** A response from an upstream of the network, sent now or cached. */
export type CompleteResponse = UpstreamResponse | CachedResponse;

/** The response to a caller's call, which may still arrive. */
export type NetworkResponse = CompleteResponse | FlowingResponse;

/** A serialised result and its validity. The response adds the request's id. */
export interface CacheEntry {
  /** As JSON: a string, or the bytes of a large upstream response. */
  readonly result: string | Buffer;
  readonly validity: Validity;
  /** The epoch at which its chain began, from `FinalChain`. */
  readonly since: number;
  /** Undefined: it was not verified. */
  readonly proof?: Proof | undefined;
}

/**
 * Permanently valid; or valid in one epoch of the chain; or while a block is canonical, and permanently once the
 * block number `finalizesAt` is final.
 */
export type Validity =
  | { readonly while: 'always' }
  | { readonly while: 'head'; readonly epoch: number; readonly deadline: number }
  | { readonly while: 'canonical'; readonly hash: string; readonly finalizesAt: bigint | undefined };

/** Approximate bytes of an entry without key and result. */
const ENTRY_OVERHEAD_BYTES = 300;

/** One entry takes at most 1/16 of the cache. */
const MAX_ENTRY_SHARE = 16;

/** Holds the cached results of all networks in memory, and evicts the least recently used ones above its size. */
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

  /** Drops the least recently used half. */
  shrink(): void {
    for (let left = Math.ceil(this.#entries.size / 2); left > 0; left--) this.#entries.pop();
  }

  get counts(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries.size, bytes: this.#entries.calculatedSize };
  }
}
