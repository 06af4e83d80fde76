import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { maxEntries } from '../config/max-entries.ts';
import { suggest } from '../config/suggest.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { digestOf } from './formats/key.ts';
import { compileAccess, type KeyAccess } from './key-access.ts';
import { permissionFields } from './permissions/permission-fields.ts';
import { permissionText, type PermissionTexts } from './permissions/permissions.ts';
import type { TokenKey } from './permissions/token-keys.ts';
import { invalidSignature, rejectClaims } from './token-authenticator.ts';
import { jose } from './tokens/jose.ts';
import type { KeyTokenConfig } from './tokens/read-auth.ts';
import { invalidToken, isToken } from './tokens/token-form.ts';

const MAX_VERIFIED = 10_000;

/** The claims that narrow a key, with their permissions. */
const claims = { methods: 'methods', addresses: 'contracts', origins: 'origins', user_agents: 'userAgents' } as const;
/** The registered claims of RFC 7519. */
const otherClaims = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'];

/**
 * Narrows keys by tokens in Infura's form: they stand beside the key, are signed with a key whose public key is registered with
 * it, and have no issuer and no subject. Verified tokens are cached for as long as the record of their key is the same.
 */
export class KeyTokens {
  readonly #options: KeyTokenConfig;
  readonly #verified = new LRUCache<string, KeyAccess>(maxEntries(MAX_VERIFIED));

  constructor(options: KeyTokenConfig) {
    this.#options = options;
  }

  /**
   * @param access of the key
   * @param text of the token beside it
   * @returns undefined: the token must be verified
   * @throws RpcError token-invalid
   */
  narrowed(access: KeyAccess, text: string | undefined): KeyAccess | undefined {
    if (text === undefined) {
      if (access.tokens?.isRequired !== true) return access;
      throw invalidToken('this project id requires one in Authorization: Bearer');
    }
    const narrowed = this.#verified.get(digestOf(text));
    const { of, endsAt = 0 } = narrowed?.keyToken ?? {};
    return of === access && clock.unixMs() < endsAt ? narrowed : undefined;
  }

  /** @throws RpcError token-invalid (rejects with it) */
  async verify(access: KeyAccess, text: string): Promise<KeyAccess> {
    const key = keyOf(access, text);
    const { endsAt, ceiling } = await this.#readToken(text, key);
    const { record, account } = access;
    const keyToken = { of: access, text, endsAt, config: this.#options };
    const narrowed = compileAccess(record, { of: () => account }, { account: account.name, ceiling, keyToken });
    this.#verified.set(digestOf(text), narrowed);
    return narrowed;
  }

  async #readToken(text: string, key: TokenKey): Promise<{ endsAt: number; ceiling: PermissionTexts }> {
    const { keyTokenAudience: audience, clockToleranceS: clockTolerance } = this.#options;
    const { publicKey, algorithm } = key;
    const checks = { algorithms: [algorithm], audience, clockTolerance, requiredClaims: ['exp'] };
    try {
      const currentDate = new Date(clock.unixMs());
      const { payload } = await jose().jwtVerify(text, publicKey, { ...checks, currentDate });
      const endsAt = ((payload.exp ?? 0) + clockTolerance) * 1_000;
      return { endsAt, ceiling: ceilingOf(payload) };
    } catch (error) {
      if (error instanceof RpcError) throw error;
      rejectClaims(error);
      throw invalidSignature();
    }
  }
}

/** The public key that a token names. @throws RpcError token-invalid */
function keyOf({ tokens }: KeyAccess, text: string): TokenKey {
  let header: { kid?: unknown; alg?: unknown };
  try {
    if (!isToken(text)) throw new TypeError();
    header = jose().decodeProtectedHeader(text);
  } catch {
    throw invalidToken('it has not the form of a JSON Web Token');
  }
  const { kid, alg } = header;
  const key = tokens?.keys.find((one) => one.kid === kid);
  if (key === undefined) throw invalidToken('its kid is not known for this project id');
  if (alg !== key.algorithm) throw invalidToken(`its alg must be ${key.algorithm}, which is that of its public key`);
  return key;
}

/** @throws RpcError token-invalid, for an unknown claim too: it may be a misspelt list */
function ceilingOf(payload: Readonly<Record<string, unknown>>): PermissionTexts {
  const texts: Record<string, string> = {};
  for (const [claim, value] of Object.entries(payload)) {
    if (otherClaims.includes(claim)) continue;
    if (!isList(claim)) {
      if (!/^\w{1,40}$/.test(claim)) throw invalidToken('it has a claim that is not known');
      throw invalidToken(`its claim ${claim} is not known${suggest(claim, Object.keys(claims))}`);
    }
    const field = claims[claim];
    const permission = Array.isArray(value) ? permissionText(value) : undefined;
    if (permission === undefined) throw invalidToken(`its claim ${claim} must be a list of texts`);
    if (permissionFields[field].read(permission) === undefined)
      throw invalidToken(`its claim ${claim} must have 1 to 30 entries, each as in the permission ${field} of a key`);
    texts[field] = permission;
  }
  return texts;
}

function isList(claim: string): claim is keyof typeof claims {
  return Object.hasOwn(claims, claim);
}
