import type { CanonicalChain, ChainChange } from '../heads/canonical-chain.ts';
import type { Leave, Listener } from './listener.ts';

/** Tells each header that the chain goes on with; after a reorganisation, those of the new branch. */
export class HeadsFeed {
  readonly #chain: CanonicalChain;
  readonly #listeners = new Set<Listener>();
  #unwatch: Leave | undefined;

  constructor(chain: CanonicalChain) {
    this.#chain = chain;
  }

  join(listener: Listener): Leave {
    this.#listeners.add(listener);
    this.#unwatch ??= this.#chain.watch((change) => {
      this.#changed(change);
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#unwatch?.();
      this.#unwatch = undefined;
    };
  }

  /** Where blocks were missed for good we go on: a header tells its number and its parent, so that the gap shows. */
  #changed({ added }: ChainChange): void {
    if (added.length === 0) return;
    const results = added.map(({ block }) => JSON.stringify(block));
    for (const listener of this.#listeners) listener.tell(results);
  }
}
