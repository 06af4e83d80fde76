import type { FinalChain } from '../cache/final-chain.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import { hex, type RangeFilter } from './range-filter.ts';
import { blocksIn, type BlockRange } from './pending-ranges.ts';
import { endOfPart, widthsWithin } from './part-widths.ts';

/** Caches the lists of final ranges of one method, in the memory of the response cache. */
export class PartCache {
  readonly #cache: ResponseCache;
  readonly #final: FinalChain;
  readonly #prefix: string;

  /** @param network its slug and chain id */
  constructor(cache: ResponseCache, final: FinalChain, network: string, method: string) {
    this.#cache = cache;
    this.#final = final;
    this.#prefix = `${network}:${method}:part:`;
  }

  /** Number of the chain. A list that was requested before it changed is not cached. */
  get generation(): number {
    return this.#final.generation;
  }

  /** The widest cached part at the start of the range: its end and its elements. */
  findAtStart(filter: RangeFilter, range: BlockRange, now: number): { to: number; elements: Buffer } | undefined {
    if (!this.#final.isChecked(now)) return undefined;
    const ends = widthsWithin(blocksIn(range)).map((width) => endOfPart(range.from, range.to, width));
    for (const to of new Set([range.to, ...ends])) {
      const entry = this.#cache.get(this.#keyOf(filter, { from: range.from, to }));
      if (entry !== undefined && entry.generation === this.generation) return { to, elements: entry.result as Buffer };
    }
    return undefined;
  }

  /** Caches the list of final blocks. Empty lists are not cached, as those of other methods. */
  store(filter: RangeFilter, range: BlockRange, elements: Buffer): void {
    if (elements.length === 0) return;
    const { generation } = this;
    this.#cache.set(this.#keyOf(filter, range), { result: elements, validity: { while: 'always' }, generation });
  }

  #keyOf({ key }: RangeFilter, { from, to }: BlockRange): string {
    return `${this.#prefix}${key}:${hex(from)}:${hex(to)}`;
  }
}
