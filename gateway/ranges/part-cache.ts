import { hash } from 'node:crypto';
import type { FinalChain } from '../cache/final-chain.ts';
import { redisPrefixOf, type RedisCache } from '../cache/redis-cache.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import { elementsIn, joinLists } from './list-bytes.ts';
import { hex, type RangeFilter } from './range-filter.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import { endOfPart, widthsWithin } from './part-widths.ts';

/** A cached part: its end and its elements. */
export interface FoundPart {
  readonly to: number;
  readonly elements: Buffer;
}

export interface PartCacheOptions {
  readonly cache: ResponseCache;
  /** Undefined: the cache is not shared with other gateways. */
  readonly redisCache: RedisCache | undefined;
  readonly final: FinalChain;
  /** Its slug and chain id. */
  readonly network: string;
  readonly method: string;
  readonly count: (outcome: 'hit' | 'redis' | 'miss') => void;
}

/** Caches the lists of final ranges of one method, in the memory of the response cache and in the shared Redis cache. */
export class PartCache {
  readonly #options: PartCacheOptions;
  readonly #prefix: string;

  constructor(options: PartCacheOptions) {
    this.#options = options;
    this.#prefix = `${options.network}:${options.method}:part:`;
  }

  /** The epoch at which the chain began. A list that was requested before it was replaced is not cached. */
  get since(): number {
    return this.#options.final.since;
  }

  /** The widest part in memory at the start of the range. */
  findAtStart(filter: RangeFilter, range: BlockRange, now: number): FoundPart | undefined {
    const { cache, final, count } = this.#options;
    if (!final.isChecked(now)) return undefined;
    const ends = widthsWithin(blocksIn(range)).map((width) => endOfPart(range.from, range.to, width));
    for (const to of new Set([range.to, ...ends])) {
      const entry = cache.get(this.#keyOf(filter, { from: range.from, to }));
      if (entry === undefined || entry.since !== this.since) continue;
      count('hit');
      return { to, elements: entry.result as Buffer };
    }
    return undefined;
  }

  /** The same part in Redis, where other gateways stored it. Counts the lookup. @param range of final blocks */
  async findShared(filter: RangeFilter, range: BlockRange): Promise<FoundPart | undefined> {
    const { redisCache, count } = this.#options;
    const key = redisCache && this.#redisKey(filter, range);
    const { since } = this;
    const list = key === undefined ? undefined : await redisCache?.get(key);
    const elements = list === undefined ? undefined : elementsIn(Buffer.from(list));
    if (elements === undefined || since !== this.since) {
      count('miss');
      return undefined;
    }
    count('redis');
    this.#storeInMemory(filter, range, elements);
    return { to: range.to, elements };
  }

  /** Caches the list of final blocks. Empty lists are not cached, as those of other methods. */
  store(filter: RangeFilter, range: BlockRange, elements: Buffer): void {
    if (elements.length === 0) return;
    this.#storeInMemory(filter, range, elements);
    const { redisCache } = this.#options;
    const key = redisCache && this.#redisKey(filter, range);
    if (key !== undefined) redisCache?.set(key, Buffer.concat(joinLists([elements]).parts));
  }

  #storeInMemory(filter: RangeFilter, range: BlockRange, elements: Buffer): void {
    const { since } = this;
    const entry = { result: elements, validity: { while: 'always' }, since } as const;
    this.#options.cache.set(this.#keyOf(filter, range), entry);
  }

  #keyOf({ key }: RangeFilter, { from, to }: BlockRange): string {
    return `${this.#prefix}${key}:${hex(from)}:${hex(to)}`;
  }

  /** Undefined: shared entries are not used now. */
  #redisKey(filter: RangeFilter, range: BlockRange): string | undefined {
    const { final, network, method } = this.#options;
    const id = final.sharedId(performance.now());
    return id && `${redisPrefixOf(network)}${id}:${method}:${hash('sha256', this.#keyOf(filter, range), 'base64url')}`;
  }
}
