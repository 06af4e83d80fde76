import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { LinkedList, type Linked } from '../collections/linked-list.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** A cached result, in place of an upstream response. */
export interface CachedResponse {
  readonly kind: 'cached';
  /** Result as JSON. */
  readonly result: string | Buffer;
  /** Proof of the response; undefined: it was not verified. */
  readonly proof?: Proof | undefined;
}

/** A response from an upstream of the network, sent now or cached. */
export type CompleteResponse = UpstreamResponse | CachedResponse;

/** The response to a caller's call, which may still arrive. */
export type NetworkResponse = CompleteResponse | FlowingResponse;

/** A serialised result and its validity. The response adds the request's id. */
export interface CacheEntry {
  /** Result as JSON: a string, or the bytes of a large upstream response. */
  readonly result: string | Buffer;
  readonly validity: Validity;
  /** Generation of `FinalChain` when the entry was stored. */
  readonly generation: number;
  /** Proof of the response; undefined: it was not verified. */
  readonly proof?: Proof | undefined;
}

/**
 * Time of validity: permanently; or in one epoch of the chain; or while a block is canonical, and permanently once the
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

/** Requested calls that are remembered, a power of 2; those of some seconds at 5,000 calls per second. */
const REMEMBERED_CALLS = 65_536;
/** Words of four characters that are hashed of a longer key: if two calls count as one, the second is cached, and does not flow. */
const HASHED_WORDS = 128;
/** Characters of a longer key of which words are hashed. */
const HASHED_CHARS = 65_536;
/** The characters of the key that is hashed, one byte each, and the rest of the last word. */
const keyBytes = Buffer.alloc(HASHED_CHARS + 4);
const keyWords = new Int32Array(keyBytes.buffer);

/** Entry at a head, without the result, which may be evicted before. */
interface HeadEntry extends Linked<HeadEntry> {
  readonly key: string;
  readonly deadline: number;
}

/**
 * Holds the cached results of all networks in memory, and evicts the least recently used ones above its size. Those for the head
 * are dropped after their deadline.
 */
export class ResponseCache {
  readonly #entries: LRUCache<string, CacheEntry>;
  /** The oldest first, which are the first to end: all are valid for the same time. */
  readonly #atHead = new LinkedList<HeadEntry>();
  /** Hashes of requested calls, each at a place by its hash. */
  readonly #requested = new Uint32Array(REMEMBERED_CALLS);

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

  /** Whether a call was requested before, as far as is remembered. Remembers it. */
  isRequestedAgain(key: string): boolean {
    const hash = hashOf(key);
    const place = hash % REMEMBERED_CALLS;
    const isAgain = this.#requested[place] === hash;
    this.#requested[place] = hash;
    return isAgain;
  }

  set(key: string, entry: CacheEntry): void {
    this.#entries.set(key, entry);
    // A result that is too large is not held.
    if (entry.validity.while !== 'head' || this.#entries.peek(key) !== entry) return;
    const now = clock.now();
    this.#atHead.push({ key, deadline: entry.validity.deadline, previous: undefined, next: undefined });
    for (let first = this.#atHead.first; first !== undefined && first.deadline <= now; first = this.#atHead.first) {
      this.#atHead.remove(first);
      const validity = this.#entries.peek(first.key)?.validity;
      if (validity?.while === 'head' && validity.deadline <= now) this.#entries.delete(first.key);
    }
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

/** FNV-1a by words, whose upper bits are mixed into the lower ones: by characters it takes 0.4 µs, three times as long. */
function hashOf(key: string): number {
  const length = keyBytes.write(key, 0, HASHED_CHARS, 'latin1');
  keyBytes.fill(0, length, length + 4);
  const words = Math.ceil(length / 4);
  const step = Math.ceil(words / HASHED_WORDS);
  let hash = key.length;
  for (let at = 0; at < words; at += step) {
    hash = Math.imul(hash ^ (keyWords[at] as number), 16_777_619);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
