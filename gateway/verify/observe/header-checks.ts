import { parseHeader } from '../../chain/header.ts';
import type { ChainView } from '../../chain/view.ts';
import { checkHeader, formOf } from '../proofs/check-header.ts';
import type { AuditedResponse } from './compare-responses.ts';

/** `wrong-hash` and `wrong-parent` are certain. `unknown`: there is no header, or its form is not known. */
export type HeaderOutcome = 'verified' | 'wrong-hash' | 'wrong-parent' | 'unknown';

interface FollowedChain {
  readonly view: Pick<ChainView<unknown>, 'at' | 'has'>;
}

/**
 * Checks the headers in the results of one network: their hashes, and their parents in the followed chain. A wrong hash is
 * only certain once another header of the network was verified, because some chains hash other members (zkSync Era, IBFT).
 * That header must be of the same or a later block, and have no more members: an upstream may omit those of the last fork.
 */
export class HeaderChecks {
  readonly #chain: FollowedChain;
  /** The highest number of a verified header, by its form. */
  readonly #verified = new Map<number, bigint>();

  constructor(chain: FollowedChain) {
    this.#chain = chain;
  }

  check(response: AuditedResponse): HeaderOutcome {
    const header = response.kind === 'result' ? parseHeader(response.result) : undefined;
    if (header === undefined || response.kind !== 'result') return 'unknown';
    const block = response.result as Readonly<Record<string, unknown>>;
    const checked = checkHeader(block);
    const form = formOf(block);
    if (checked === 'verified' && header.number > (this.#verified.get(form) ?? -1n))
      this.#verified.set(form, header.number);
    if (checked === 'mismatch' && this.#isWhole(form, header.number)) return 'wrong-hash';
    const { view } = this.#chain;
    const parent = view.has(header.hash) ? view.at(header.number - 1n) : undefined;
    if (parent !== undefined && parent.hash !== header.parentHash) return 'wrong-parent';
    return checked === 'verified' ? 'verified' : 'unknown';
  }

  /** Whether a header with this number has no members beside those of its form, because a later one has none. */
  #isWhole(form: number, number: bigint): boolean {
    for (const [known, highest] of this.#verified) if (known <= form && highest >= number) return true;
    return false;
  }
}
