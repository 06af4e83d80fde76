import { parseHeader } from '../chain/header.ts';
import type { ChainView } from '../chain/view.ts';
import type { JsonObject } from '../collections/is-object.ts';
import type { ComparedResponse } from './evidence/compare-responses.ts';
import { checkHeader, formOf } from './proofs/check-header.ts';

/** `wrong-hash` and `wrong-parent` are certain. `unknown`: there is no header, or its form is not known. */
export type HeaderOutcome = 'verified' | 'wrong-hash' | 'wrong-parent' | 'unknown';

/**
 * Checks the headers in the results of one network: their hashes, and their parents in the followed chain. A wrong hash is
 * only certain once another header of the network was verified, because some chains hash other members (zkSync Era, IBFT).
 * That header must be of the same or a later block, and have no more members: an upstream may omit those of the last fork.
 */
export class HeaderChecks {
  readonly #chain: { readonly view: Pick<ChainView<unknown>, 'at' | 'has'> };
  /** The highest number of a verified header, by its form. */
  readonly #verified = new Map<number, bigint>();

  constructor(chain: { readonly view: Pick<ChainView<unknown>, 'at' | 'has'> }) {
    this.#chain = chain;
  }

  check(response: ComparedResponse): HeaderOutcome {
    const header = response.kind === 'result' ? parseHeader(response.result) : undefined;
    if (header === undefined || response.kind !== 'result') return 'unknown';
    const { number, hash, parentHash } = header;
    const block = response.result as JsonObject;
    const checked = checkHeader(block);
    const form = formOf(block);
    if (checked === 'verified' && number > (this.#verified.get(form) ?? -1n)) this.#verified.set(form, number);
    // A header without members beside those of its form, because a later one has none.
    const isWhole = [...this.#verified].some(([known, highest]) => known <= form && highest >= number);
    if (checked === 'mismatch' && isWhole) return 'wrong-hash';
    const { view } = this.#chain;
    const parent = view.has(hash) ? view.at(number - 1n) : undefined;
    if (parent !== undefined && parent.hash !== parentHash) return 'wrong-parent';
    return checked === 'verified' ? 'verified' : 'unknown';
  }
}
