import { LRUCache } from 'lru-cache';
import { clock } from '../../clock/clock.ts';
import { maxEntries } from '../../config/max-entries.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { digestOf } from '../formats/key.ts';
import type { KeyStore } from '../stores/key-store.ts';
import type { IssuerConfig } from './read-auth.ts';

const MAX_CACHED = 20_000;

/** Digest of the record that revokes all tokens of a subject. Its first 12 digits are the subject's id in usage and logs. */
export function subjectDigest(issuer: string, subject: string): string {
  return digestOf(`token subject\n${issuer}\n${subject}`);
}

/** Digest of the record that revokes one token by its `jti`. */
export function tokenIdDigest(issuer: string, tokenId: string): string {
  return digestOf(`token id\n${issuer}\n${tokenId}`);
}

/** What `KeyAccess` has of a token, for checks of it after its first. */
export interface TokenFacts {
  /** Digests of the records that revoke it. */
  readonly digests: readonly string[];
  /** What identifies the key that verified it in the issuer's key set. */
  readonly verifiedBy: string;
  /** Its claim `exp`, in ms since 1970. */
  readonly expiresAt: number;
  /** With the clock tolerance. */
  readonly endsAt: number;
  readonly text: string;
  /** Options that verified the token. After a change of them it is verified again. */
  readonly config: IssuerConfig;
}

interface Known {
  readonly isRevoked: boolean;
  readonly confirmedAt: number;
  readonly generation: number;
}

/**
 * Whether subjects and tokens are revoked. A revocation is a revoked record in the key store, under the digest of the
 * subject or token id; most have no record. Cached until the store reports a change, as keys are.
 */
export class Revocations {
  readonly #store: KeyStore;
  readonly #staleMaxMs: number;
  readonly #known = new LRUCache<string, Known>(maxEntries(MAX_CACHED));
  /** Rises when any record may have changed. */
  #generation = 0;
  #changedAt = -Infinity;

  constructor(store: KeyStore, staleMaxS: number) {
    this.#store = store;
    this.#staleMaxMs = staleMaxS * 1_000;
    store.onChange((digest) => {
      this.#changedAt = clock.now();
      if (digest === undefined) this.#generation += 1;
      else this.#known.delete(digest);
    });
  }

  /**
   * Whether one of the records is revoked.
   * @param marginMs also `marginMs` from now, without another lookup
   * @throws RpcError (or rejects with it): key-store-unreachable
   */
  isAnyRevoked(digests: readonly string[], marginMs = 0): boolean | Promise<boolean> {
    let areFresh = true;
    for (const digest of digests) {
      const known = this.#known.get(digest);
      if (known === undefined || !this.#isFresh(known, marginMs)) areFresh = false;
      else if (known.isRevoked) return true;
    }
    return areFresh ? false : this.#find(digests);
  }

  /** Whether some record is known not to be revoked, without a lookup. */
  get hasFresh(): boolean {
    for (const known of this.#known.values()) if (!known.isRevoked && this.#isFresh(known, 0)) return true;
    return false;
  }

  #isFresh({ confirmedAt, generation }: Known, marginMs: number): boolean {
    const age = clock.now() + marginMs - confirmedAt;
    if (!this.#store.isAvailable) return age < this.#staleMaxMs;
    return generation === this.#generation && age < this.#store.freshForMs;
  }

  async #find(digests: readonly string[]): Promise<boolean> {
    const [confirmedAt, generation] = [clock.now(), this.#generation];
    try {
      const records = await Promise.all(digests.map((digest) => this.#store.find(digest)));
      // A change during the lookup may be newer than what it found.
      if (this.#changedAt < confirmedAt)
        for (const [index, record] of records.entries()) {
          const isRevoked = record?.revokedAt !== undefined;
          this.#known.set(digests[index] ?? '', { isRevoked, confirmedAt, generation });
        }
      return records.some((record) => record?.revokedAt !== undefined);
    } catch (cause) {
      // Read again: a record may have changed during the lookup.
      const known = digests.map((digest) => this.#known.get(digest));
      if (known.some((each) => each?.isRevoked === true)) return true;
      const oldest = Math.min(...known.map((each) => each?.confirmedAt ?? -Infinity));
      if (clock.now() - oldest < this.#staleMaxMs) return false;
      throw new RpcError('key-store-unreachable', undefined, { cause });
    }
  }
}
