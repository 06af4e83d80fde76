import type { Header } from '../../heads/header.ts';

/** As many as the chain knows, so that what it takes back is found here. */
const MAX_BLOCKS = 512;
/** Characters of logs. A block of Ethereum has 300,000; reorganisations go a few blocks deep. */
const MAX_CHARS = 16_000_000;

interface DeliveredBlock {
  readonly header: Header;
  readonly number: number;
  /** Undefined: not kept, since there was too much. */
  readonly results: readonly string[] | undefined;
}

/** The logs that were told of the newest blocks, should a block be taken back. */
export class DeliveredLogs {
  /** Oldest first. */
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

  /** Undefined: nothing was told of it. */
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
