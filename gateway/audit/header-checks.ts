import type { CanonicalChain } from '../heads/canonical-chain.ts';
import { parseHeader } from '../heads/header.ts';
import { checkHeader } from './check-header.ts';
import type { AuditedResponse } from './compare-responses.ts';

/** `wrong-hash` and `wrong-parent` are certain. `unknown`: there is no header, or its form is not known. */
export type HeaderOutcome = 'verified' | 'wrong-hash' | 'wrong-parent' | 'unknown';

/**
 * Checks the headers in the results of one network: their hashes, and their parents in the followed chain. A wrong hash is
 * only certain once another header of the network was verified, because some chains hash other members (zkSync Era, IBFT).
 */
export class HeaderChecks {
  readonly #chain: Pick<CanonicalChain, 'at' | 'has'>;
  #hasVerified = false;

  constructor(chain: Pick<CanonicalChain, 'at' | 'has'>) {
    this.#chain = chain;
  }

  check(response: AuditedResponse): HeaderOutcome {
    const header = response.kind === 'result' ? parseHeader(response.result) : undefined;
    if (header === undefined || response.kind !== 'result') return 'unknown';
    const checked = checkHeader(response.result as Readonly<Record<string, unknown>>);
    if (checked === 'verified') this.#hasVerified = true;
    if (checked === 'mismatch' && this.#hasVerified) return 'wrong-hash';
    const parent = this.#chain.has(header.hash) ? this.#chain.at(header.number - 1n) : undefined;
    if (parent !== undefined && parent.hash !== header.parentHash) return 'wrong-parent';
    return checked === 'verified' ? 'verified' : 'unknown';
  }
}
