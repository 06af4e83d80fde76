import { hash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { addressGroup } from '../../auth/formats/address-group.ts';
import { maxEntries } from '../../config/max-entries.ts';
import { adminRoles, type AdminRole, type AdminToken } from '../../config/admin-tokens.ts';
import { AdminError } from './read-admin-api.ts';

/** Requests of one address in the window with a wrong token, or none. Further ones are 429, and are not logged. */
const MAX_WRONG_TOKENS = 10;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Why a request was rejected: the label of its metric. */
export type AdminRejection = 'missing-token' | 'wrong-token' | 'too-many-wrong-tokens' | 'role';

/**
 * Authenticates requests of the admin API, and limits wrong tokens by client address. A valid token works beyond the
 * limit too: a script with an old token must not lock out the administrators behind the same address. Tokens of 16 and
 * more characters are not found by guessing.
 */
export class AdminAuthenticator {
  readonly #tokens: readonly { readonly token: AdminToken; readonly digest: Buffer }[];
  readonly #onRejected: (reason: AdminRejection) => void;
  /** An entry expires 60 s after its first request: later ones do not extend it. */
  readonly #wrong = new LRUCache<string, { count: number }>({ ...maxEntries(MAX_ADDRESSES), ttl: WINDOW_MS });

  constructor(tokens: readonly AdminToken[], onRejected: (reason: AdminRejection) => void) {
    this.#tokens = tokens.map((token) => ({ token, digest: digestOf(token.value) }));
    this.#onRejected = onRejected;
  }

  /**
   * @param authorization the header
   * @param address of the client
   * @throws AdminError 401 for a missing or wrong token, 429 after too many of them
   */
  authenticate(authorization: string | undefined, address: string): AdminToken {
    const given = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
    const found = given === undefined ? undefined : this.#find(given);
    if (found !== undefined) return found;
    const group = addressGroup(address);
    const wrong = this.#wrong.get(group);
    if (wrong !== undefined && wrong.count >= MAX_WRONG_TOKENS) {
      this.#onRejected('too-many-wrong-tokens');
      const retryAfterS = Math.max(1, Math.ceil(this.#wrong.getRemainingTTL(group) / 1000));
      throw new AdminError(429, 'too many requests without a valid token from this address', { retryAfterS });
    }
    this.#onRejected(given === undefined ? 'missing-token' : 'wrong-token');
    if (wrong === undefined) this.#wrong.set(group, { count: 1 });
    else wrong.count++;
    const message = 'expected the token of ADMIN_TOKEN or one of ADMIN_TOKENS, as Authorization: Bearer <token>';
    throw new AdminError(401, message);
  }

  /** @throws AdminError 403 */
  authorise({ name, role }: AdminToken, required: AdminRole): void {
    if (adminRoles.indexOf(role) >= adminRoles.indexOf(required)) return;
    this.#onRejected('role');
    throw new AdminError(403, `the token ${name} has the role ${role}: this operation requires ${required}`);
  }

  /** Digests have equal lengths, so a comparison takes constant time. All are compared. */
  #find(given: string): AdminToken | undefined {
    const digest = digestOf(given);
    return this.#tokens.filter((known) => timingSafeEqual(known.digest, digest))[0]?.token;
  }
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
