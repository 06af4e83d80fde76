import type { Header } from '../../chain/header.ts';

/** Number of blocks, as many as the canonical chain holds, so that each removed block is found. */
const MAX_BLOCKS = 512;
/** Limit of characters of logs. An Ethereum block has 300,000; reorgs are a few blocks deep. */
const MAX_CHARS = 16_000_000;

interface DeliveredBlock {
  readonly header: Header;
  readonly number: number;
  /** Results; undefined: discarded, because the total exceeded `MAX_CHARS`. */
  readonly results: readonly string[] | undefined;
}

/** Holds the delivered logs of the newest blocks, so that a reorg can repeat them with `removed: true`. */
export class DeliveredLogs {
  /** Delivered blocks, oldest first. */
  readonly #blocks = new Map<string, DeliveredBlock>();
  #chars = 0;

  add(header: Header, number: number, results: readonly string[]): void {
    this.#blocks.set(header.hash, { header, number, results });
    this.#chars += charsOf(results);
    for (const [hash, block] of this.#blocks) {
      if (this.#blocks.size > MAX_BLOCKS) this.remove(hash);
      else if (this.#chars <= MAX_CHARS) break;
      else this.#dropResults(hash, block);
    }
  }

  /** Removes the delivery of a block; undefined: it has none. */
  remove(hash: string): DeliveredBlock | undefined {
    const block = this.#blocks.get(hash);
    this.#blocks.delete(hash);
    this.#chars -= charsOf(block?.results ?? []);
    return block;
  }

  #dropResults(hash: string, block: DeliveredBlock): void {
    const { results = [] } = block;
    if (results.length === 0) return;
    this.#chars -= charsOf(results);
    this.#blocks.set(hash, { ...block, results: undefined });
  }
}

function charsOf(results: readonly string[]): number {
  return results.reduce((sum, { length }) => sum + length, 0);
}
