import type { CanonicalChain, ChainChange } from '../heads/canonical-chain.ts';
import { normaliseFields } from '../normalise/complete-object.ts';
import type { ObjectShape } from '../spec/method-spec.ts';
import type { Leave, Listener } from './listener.ts';

/** Tells each header that the chain goes on with; after a reorganisation, those of the new branch. */
export class HeadsFeed {
  readonly #chain: CanonicalChain;
  readonly #shape: ObjectShape | undefined;
  readonly #listeners = new Set<Listener>();
  #unwatch: Leave | undefined;

  /** @param shape of a block: headers have the same quantities and addresses */
  constructor(chain: CanonicalChain, shape: ObjectShape | undefined) {
    this.#chain = chain;
    this.#shape = shape;
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
    const results = added.map(({ block }) => {
      const header = { ...block };
      if (this.#shape !== undefined) normaliseFields(header, this.#shape);
      return JSON.stringify(header);
    });
    for (const listener of this.#listeners) listener.tell(results);
  }
}
