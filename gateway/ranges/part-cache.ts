import { hash } from 'node:crypto';
import { clock } from '../clock/clock.ts';
import type { FinalChain } from '../cache/final-chain.ts';
import { resultPrefixOf, type DurableCache } from '../cache/durable-cache.ts';
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
  /** Durable cache; undefined: lists are in memory only. */
  readonly durable: DurableCache | undefined;
  readonly final: FinalChain;
  /** Slug and chain id of the network. */
  readonly network: string;
  readonly method: string;
  readonly count: (outcome: 'hit' | DurableCache['kind'] | 'miss') => void;
}

/** Caches the lists of final ranges of one method, in the memory of the response cache and in the durable cache. */
export class PartCache {
  readonly #options: PartCacheOptions;
  readonly #prefix: string;

  constructor(options: PartCacheOptions) {
    this.#options = options;
    this.#prefix = `${options.network}:${options.method}:part:`;
  }

  /** Number that changes after all entries were forgotten: a list that was requested before is not cached. */
  get generation(): number {
    return this.#options.final.generation;
  }

  /** The widest part in memory at the start of the range. */
  findAtStart(filter: RangeFilter, range: BlockRange, now: number): FoundPart | undefined {
    const { cache, final, count } = this.#options;
    if (!final.isChecked(now)) return undefined;
    const ends = widthsWithin(blocksIn(range)).map((width) => endOfPart(range.from, range.to, width));
    for (const to of new Set([range.to, ...ends])) {
      const entry = cache.get(this.#keyOf(filter, { from: range.from, to }));
      if (entry === undefined || entry.generation !== this.generation) continue;
      count('hit');
      return { to, elements: entry.result as Buffer };
    }
    return undefined;
  }

  /** Part in the durable cache. Counts the lookup. @param range of final blocks */
  async findDurable(filter: RangeFilter, range: BlockRange): Promise<FoundPart | undefined> {
    const { durable, count } = this.#options;
    const key = durable && this.#durableKey(filter, range);
    const { generation } = this;
    const list = key === undefined ? undefined : await durable?.get(key);
    const elements = list === undefined ? undefined : elementsIn(Buffer.from(list));
    if (elements === undefined || generation !== this.generation) {
      count('miss');
      return undefined;
    }
    count(durable?.kind ?? 'miss');
    this.#storeInMemory(filter, range, elements);
    return { to: range.to, elements };
  }

  /** Caches the list of final blocks. Empty lists are not cached, as those of other methods. */
  store(filter: RangeFilter, range: BlockRange, elements: Buffer): void {
    if (elements.length === 0) return;
    this.#storeInMemory(filter, range, elements);
    const { durable } = this.#options;
    const key = durable && this.#durableKey(filter, range);
    if (key !== undefined) durable?.set(key, Buffer.concat(joinLists([elements]).parts));
  }

  #storeInMemory(filter: RangeFilter, range: BlockRange, elements: Buffer): void {
    const { generation } = this;
    const entry = { result: elements, validity: { while: 'always' }, generation } as const;
    this.#options.cache.set(this.#keyOf(filter, range), entry);
  }

  #keyOf({ key }: RangeFilter, { from, to }: BlockRange): string {
    return `${this.#prefix}${key}:${hex(from)}:${hex(to)}`;
  }

  /** Name of a part in the durable cache; undefined: shared entries are not used now. */
  #durableKey(filter: RangeFilter, range: BlockRange): string | undefined {
    const { final, network, method } = this.#options;
    const id = final.sharedId(clock.now());
    return id && `${resultPrefixOf(network)}${id}:${method}:${hash('sha256', this.#keyOf(filter, range), 'base64url')}`;
  }
}
