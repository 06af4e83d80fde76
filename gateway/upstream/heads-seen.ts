import type { Heads } from './blocks-held.ts';
import type { Head } from './head.ts';
import type { Upstream } from './upstream.ts';

/** Of heads that were seen further apart nothing is said: a quick chain has new blocks meanwhile. */
const SEEN_TOGETHER_MS = 1_000;

/** What the last looks at the heads of a network's upstreams tell. */
export class HeadsSeen implements Heads<Upstream> {
  readonly #all: readonly Upstream[];

  constructor(all: readonly Upstream[]) {
    this.#all = all;
  }

  get number(): bigint | undefined {
    let newest: bigint | undefined;
    for (const { head } of this.#all) if (head !== undefined && head.number > (newest ?? -1n)) newest = head.number;
    return newest;
  }

  lagOf({ head }: Upstream): number {
    if (head === undefined) return 0;
    const ahead = this.#seenWith(head).reduce((most, { number }) => (number > most ? number : most), head.number);
    return Number(ahead - head.number);
  }

  hasBlock({ head }: Upstream, number: bigint): boolean {
    return head === undefined || head.number >= number || !this.#seenWith(head).some((other) => other.number >= number);
  }

  #seenWith(head: Head): Head[] {
    return this.#all.flatMap(({ head: other }) =>
      other !== undefined && Math.abs(other.at - head.at) < SEEN_TOGETHER_MS ? other : [],
    );
  }
}
