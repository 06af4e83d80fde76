import type { JWTVerifyGetKey } from 'jose';
import { RpcError } from '../../jsonrpc/errors.ts';
import { digestOf } from '../formats/key.ts';
import type { KeyStore } from '../stores/key-store.ts';
import { RecordCache } from '../stores/record-cache.ts';
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
  /** The keys of the issuer that verified it. After a change of them it is verified again. */
  readonly keys: JWTVerifyGetKey;
  /** Claim `exp` of the token, in ms since 1970. */
  readonly expiresAt: number;
  /** End of the validity with the clock tolerance. */
  readonly endsAt: number;
  readonly text: string;
  /** Options that verified the token. After a change of them it is verified again. */
  readonly config: IssuerConfig;
}

/**
 * Whether subjects and tokens are revoked. A revocation is a revoked record in the key store, under the digest of the
 * subject or token id; most have no record. Cached until the store reports a change, as keys are.
 */
export class Revocations {
  readonly #store: KeyStore;
  /** Whether records are revoked. */
  readonly #records: RecordCache<boolean>;

  constructor(store: KeyStore, staleMaxMs: number) {
    this.#store = store;
    this.#records = new RecordCache(store, staleMaxMs, MAX_CACHED);
    store.onChange((digest) => {
      this.#records.changed(digest);
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
      const known = this.#records.get(digest);
      if (known === undefined || this.#records.freshness(known, marginMs) === undefined) areFresh = false;
      else if (known.value) return true;
    }
    if (areFresh) return false;
    return this.#findRevoked(digests);
  }

  /** Whether some record is known not to be revoked, without a lookup. */
  get hasFresh(): boolean {
    return this.#records.hasFresh((isRevoked) => !isRevoked);
  }

  /** Looks the records up together. A revoked one decides, even if another cannot be looked up. */
  async #findRevoked(digests: readonly string[]): Promise<boolean> {
    const found = await Promise.allSettled(digests.map((digest) => this.#isRevoked(digest)));
    if (found.some((one) => one.status === 'fulfilled' && one.value)) return true;
    for (const one of found) if (one.status === 'rejected') throw one.reason;
    return false;
  }

  async #isRevoked(digest: string): Promise<boolean> {
    const lookUp = async (): Promise<boolean> => (await this.#store.find(digest))?.revokedAt !== undefined;
    try {
      return await this.#records.find(digest, lookUp);
    } catch (cause) {
      // A revocation that is known stays, however old it is.
      if (this.#records.get(digest)?.value === true) return true;
      const known = this.#records.valueWithoutStore(digest);
      if (known === undefined) throw new RpcError('key-store-unreachable', undefined, { cause });
      return known;
    }
  }
}
