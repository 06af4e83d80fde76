import { errors, jwtVerify, type JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { keyIdOf } from './formats/key.ts';
import { compileAccess, type KeyAccess } from './key-access.ts';
import type { KeyShares } from './key-shares.ts';
import { InvalidPermissionsError, type PermissionTexts } from './permissions/permissions.ts';
import type { IssuerKeys } from './tokens/issuer-keys.ts';
import { claimable, permissionText, type Plans } from './tokens/plans.ts';
import { subjectDigest, tokenIdDigest, type Revocations, type TokenFacts } from './tokens/revocations.ts';

const MAX_VERIFIED = 10_000;
/** Longest rest of the life of a token in a URL: URLs are in logs of proxies and browsers. */
const MAX_IN_PATH_MS = 900_000;

export interface TokenOptions {
  readonly keys: IssuerKeys;
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  readonly clockToleranceS: number;
  /** Name of the claim with permissions or a plan. */
  readonly claim: string;
  readonly plans: Plans;
  readonly log: Log;
}

/**
 * Authenticates tokens that an operator's own issuer signs (JSON Web Tokens, RFC 7519). A verified token is the same as a
 * key to all that follows: its subject has limits and usage. Verified tokens are cached by digest until they end.
 */
export class TokenAuthenticator {
  readonly #options: TokenOptions;
  readonly #revocations: Revocations;
  readonly #shares: KeyShares;
  readonly #verified = new LRUCache<string, KeyAccess>(maxEntries(MAX_VERIFIED));
  readonly #inProgress = new Map<string, Promise<KeyAccess>>();

  constructor(options: TokenOptions, revocations: Revocations, shares: KeyShares) {
    this.#options = options;
    this.#revocations = revocations;
    this.#shares = shares;
  }

  /**
   * A verified token with its digest; undefined if it must be verified first.
   * @throws RpcError (or rejects with it): token-invalid, key-store-unreachable
   */
  cached(digest: string, isInPath: boolean): KeyAccess | Promise<KeyAccess> | undefined {
    const access = this.#verified.get(digest);
    if (access?.token === undefined) return undefined;
    checkLifeInPath(access.token, isInPath);
    return this.confirm(access, access.token, 0);
  }

  /** Verifies a token. @throws RpcError (rejects with it): token-invalid, key-store-unreachable */
  async verify(text: string, digest: string, isInPath: boolean): Promise<KeyAccess> {
    let verification = this.#inProgress.get(digest);
    if (verification === undefined) {
      verification = this.#verify(text).finally(() => this.#inProgress.delete(digest));
      this.#inProgress.set(digest, verification);
    }
    const access = await verification;
    this.#verified.set(digest, access);
    if (access.token === undefined) return access;
    checkLifeInPath(access.token, isInPath);
    return this.confirm(access, access.token, 0);
  }

  /** Whether a verified token is valid now, and `marginMs` from now. @throws RpcError (or rejects with it), as `verify` */
  confirm(access: KeyAccess, { endsAt, digests }: TokenFacts, marginMs: number): KeyAccess | Promise<KeyAccess> {
    if (Date.now() >= endsAt) throw new RpcError('token-invalid', 'invalid token: it has expired');
    const isRevoked = this.#revocations.isAnyRevoked(digests, marginMs);
    if (isRevoked === false) return access;
    return Promise.resolve(isRevoked).then((found) => {
      if (found) throw new RpcError('token-invalid', 'invalid token: it is revoked');
      return access;
    });
  }

  async #verify(text: string): Promise<KeyAccess> {
    const { keys, issuer, audience, algorithms, clockToleranceS: clockTolerance } = this.#options;
    const payload = await jwtVerify(text, keys, {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance,
      requiredClaims: ['exp', 'sub'],
    }).then((verified) => verified.payload, rejectToken);
    return this.#accessOf(payload);
  }

  #accessOf(payload: JWTPayload): KeyAccess {
    const { issuer, clockToleranceS, claim, plans, log } = this.#options;
    const { sub: subject = '', exp = 0, jti } = payload;
    if (subject === '') throw new RpcError('token-invalid', 'invalid token: the claim sub is empty');
    const digest = subjectDigest(issuer, subject);
    const id = keyIdOf(digest);
    const endsAt = (exp + clockToleranceS) * 1_000;
    const digests = jti === undefined ? [digest] : [digest, tokenIdDigest(issuer, jti)];
    const { permissions, ceiling } = grantOf(payload[claim], claim, plans);
    const record = { id, name: 'token', createdAt: '', permissions };
    try {
      return { ...compileAccess(record, this.#shares.of, ceiling), token: { digests, endsAt } };
    } catch (error) {
      if (!(error instanceof InvalidPermissionsError)) throw error;
      log.warn({ key: id, problems: error.problems }, 'token rejected: the permissions in its claim are invalid');
      throw new RpcError('token-invalid', `invalid token: the permissions in its claim ${claim} are invalid`);
    }
  }
}

function checkLifeInPath({ endsAt }: TokenFacts, isInPath: boolean): void {
  if (!isInPath || endsAt - Date.now() <= MAX_IN_PATH_MS) return;
  throw new RpcError('token-invalid', 'invalid token: in a URL it may be valid for 15 minutes at most');
}

/** A plan as it is, or the permissions of the claim below the ceiling. @throws RpcError token-invalid */
function grantOf(
  claim: unknown,
  name: string,
  { plans, default: defaultPlan, ceiling }: Plans,
): { permissions: PermissionTexts; ceiling?: PermissionTexts | undefined } {
  const plan = claim === undefined ? defaultPlan : claim;
  if (typeof plan === 'string') {
    const permissions = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
    if (permissions === undefined)
      throw new RpcError('token-invalid', `invalid token: the plan in its claim ${name} is unknown`);
    return { permissions };
  }
  if (typeof plan !== 'object' || plan === null || Array.isArray(plan)) {
    throw new RpcError('token-invalid', `invalid token: the claim ${name} needs permissions or the name of a plan`);
  }
  const permissions: Record<string, string> = {};
  for (const [field, value] of Object.entries(plan)) {
    const text = claimable.has(field) ? permissionText(value) : undefined;
    if (text === undefined) {
      const shown = claimable.has(field) || /^\w{1,40}$/.test(field) ? field : 'a field';
      throw new RpcError('token-invalid', `invalid token: its claim ${name} may not have ${shown}, or not this value`);
    }
    permissions[field] = text;
  }
  return { permissions, ceiling };
}

/** Errors of jose as ours. What the token has is not quoted. */
function rejectToken(error: unknown): never {
  if (error instanceof errors.JWTExpired) throw new RpcError('token-invalid', 'invalid token: it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) {
    throw new RpcError(
      'token-invalid',
      `invalid token: its claim ${error.claim} is ${error.reason === 'missing' ? 'missing' : 'not valid here'}`,
    );
  }
  const isOwn =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWTInvalid;
  if (isOwn) throw new RpcError('token-invalid', 'invalid token: its signature is not valid');
  // The key set cannot be had.
  throw new RpcError('key-store-unreachable', undefined, { cause: error });
}
