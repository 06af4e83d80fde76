import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { DEFAULT_CONCURRENCY } from '../admission/caller-account.ts';
import type { KeyAccounts } from '../admission/key-accounts.ts';
import { maxEntries } from '../config/max-entries.ts';
import type { ProcessBounds } from '../config/process-bounds.ts';
import { LineLimit } from '../config/line-limit.ts';
import type { Log } from '../config/log.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { digestOf, keyIdOf } from './formats/key.ts';
import { compileAccess, type KeyAccess } from './key-access.ts';
import { InvalidPermissionsError, permissionText, type PermissionTexts } from './permissions/permissions.ts';
import type { Plans } from './permissions/plans.ts';
import { KeySetUnavailable, type IssuerKeys } from './tokens/issuer-keys.ts';
import { jose } from './tokens/jose.ts';
import { isClaimable, type IssuerConfig } from './tokens/read-auth.ts';
import { subjectDigest, tokenIdDigest, type Revocations, type TokenFacts } from './tokens/revocations.ts';
import { invalidToken } from './tokens/token-form.ts';

const MAX_VERIFIED = 10_000;
/** Longest rest of the life of a token in a URL: URLs are in logs of proxies and browsers. */
const MAX_IN_PATH_MS = 900_000;

export interface TokenOptions extends IssuerConfig {
  readonly plans: Plans;
  readonly keys: IssuerKeys;
  readonly bounds: ProcessBounds;
  readonly log: Log;
}

/**
 * Authenticates tokens that an operator's own issuer signs (JSON Web Tokens, RFC 7519). A verified token is the same as a
 * key to all that follows: its subject has limits and usage. Verified tokens are cached by digest until they end.
 */
export class TokenAuthenticator {
  readonly #options: TokenOptions;
  readonly #revocations: Revocations;
  readonly #accounts: KeyAccounts;
  readonly #verified = new LRUCache<string, KeyAccess>(maxEntries(MAX_VERIFIED));
  /** Verifications in progress, by digest: simultaneous requests with one token share one. */
  readonly #verifying = new Map<string, Promise<KeyAccess>>();
  readonly #warnings = new LineLimit();

  constructor(options: TokenOptions, revocations: Revocations, accounts: KeyAccounts) {
    this.#options = options;
    this.#revocations = revocations;
    this.#accounts = accounts;
  }

  /**
   * A verified token with its digest; undefined if it must be verified first, or the keys must be read.
   * @throws RpcError (or rejects with it): token-invalid, key-store-unreachable
   */
  cached(digest: string, isInPath: boolean): KeyAccess | Promise<KeyAccess> | undefined {
    const access = this.#verified.get(digest);
    // After a change of the keys it is verified again.
    if (access?.token === undefined || access.token.keys !== this.#options.keys.current()) return undefined;
    checkLifeInPath(access.token, isInPath);
    return this.confirm(access, access.token, 0);
  }

  /** Whether some token can be confirmed while the store is unavailable. */
  get canConfirm(): boolean {
    return this.#options.keys.current() !== undefined && this.#revocations.hasFresh;
  }

  /** Verifies a token. @throws RpcError (rejects with it): token-invalid, key-store-unreachable */
  async verify(text: string, digest: string, isInPath: boolean): Promise<KeyAccess> {
    let verifying = this.#verifying.get(digest);
    if (verifying === undefined) {
      verifying = this.#verify(text).finally(() => this.#verifying.delete(digest));
      this.#verifying.set(digest, verifying);
    }
    const access = await verifying;
    this.#verified.set(digest, access);
    if (access.token === undefined) return access;
    checkLifeInPath(access.token, isInPath);
    return this.confirm(access, access.token, 0);
  }

  /** Whether a verified token is valid now, and `marginMs` from now. @throws RpcError (or rejects with it), as `verify` */
  confirm(access: KeyAccess, token: TokenFacts, marginMs: number): KeyAccess | Promise<KeyAccess> {
    const keys = this.#options.keys.current();
    if (token.config !== this.#options || (keys !== undefined && keys !== token.keys))
      return this.verify(token.text, digestOf(token.text), false);
    if (clock.unixMs() >= token.endsAt) throw invalidToken('it has expired');
    this.#accounts.renew(access.account.name, access.record.id);
    if (keys === undefined) throw new RpcError('key-store-unreachable', undefined, { cause: new KeySetUnavailable() });
    const isRevoked = this.#revocations.isAnyRevoked(token.digests, marginMs);
    if (isRevoked === false) return access;
    return Promise.resolve(isRevoked).then((found) => {
      if (found) throw invalidToken('it is revoked');
      return access;
    });
  }

  async #verify(text: string): Promise<KeyAccess> {
    const { keys } = this.#options;
    try {
      const verified = (await this.#tryKeys(text)) ?? ((await keys.refresh()) ? await this.#tryKeys(text) : undefined);
      if (verified !== undefined) return this.#accessOf(verified, text);
    } catch (cause) {
      if (!(cause instanceof KeySetUnavailable)) throw cause;
      throw new RpcError('key-store-unreachable', undefined, { cause });
    }
    throw invalidSignature();
  }

  /** @returns undefined if no key fits  @throws RpcError (rejects with it): token-invalid */
  async #tryKeys(text: string): Promise<VerifiedToken | undefined> {
    const keys = this.#options.keys.current();
    if (keys === undefined) return undefined;
    const { issuer, audience, algorithms, clockToleranceS: clockTolerance } = this.#options;
    const checks = { issuer, audience, algorithms: [...algorithms], clockTolerance, requiredClaims: ['exp', 'sub'] };
    const { errors, jwtVerify } = jose();
    try {
      return { payload: (await jwtVerify(text, keys, checks)).payload, keys };
    } catch (error) {
      rejectClaims(error);
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw invalidSignature();
      // Several keys may fit a token without `kid`.
      for await (const key of error) {
        const verified = await jwtVerify(text, key, checks).catch(rejectClaims);
        if (verified !== undefined) return { payload: verified.payload, keys };
      }
      throw invalidSignature();
    }
  }

  #accessOf({ payload, keys }: VerifiedToken, text: string): KeyAccess {
    const { issuer, clockToleranceS, claim, log } = this.#options;
    const { exp = 0 } = payload;
    const digest = subjectDigest(issuer, textIn(payload, 'sub'));
    const digests = payload.jti === undefined ? [digest] : [digest, tokenIdDigest(issuer, textIn(payload, 'jti'))];
    const ends = { expiresAt: exp * 1_000, endsAt: (exp + clockToleranceS) * 1_000 };
    const token = { digests, keys, ...ends, text, config: this.#options };
    const granted = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
    const { permissions, ceiling } = grantOf(granted, this.#options);
    const record = { id: keyIdOf(digest), name: 'token', createdAt: '', permissions };
    // Longer than an id, so that no user can choose a subject that shares the limits of a key.
    const account = `token:${digest.slice(0, 32)}`;
    try {
      return { ...compileAccess(record, this.#accounts, { account, ceiling }), token };
    } catch (error) {
      if (!(error instanceof InvalidPermissionsError)) throw error;
      // Each user can cause the warning.
      if (this.#warnings.take('permissions') !== undefined)
        log.warn(
          { key: record.id, problems: error.problems },
          'token rejected: the permissions in its claim are invalid',
        );
      throw invalidToken(`the permissions in its claim ${claim} are invalid`);
    }
  }
}

interface VerifiedToken {
  readonly payload: JWTPayload;
  readonly keys: JWTVerifyGetKey;
}

/** Other issuers' libraries sign claims of any type. @throws RpcError token-invalid */
function textIn(payload: JWTPayload, claim: 'sub' | 'jti'): string {
  const value: unknown = payload[claim];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidToken(`its claim ${claim} is not valid here`);
}

export function invalidSignature(): RpcError {
  return invalidToken('its signature is not valid');
}

function checkLifeInPath({ expiresAt }: TokenFacts, isInPath: boolean): void {
  if (!isInPath || expiresAt - clock.unixMs() <= MAX_IN_PATH_MS) return;
  throw invalidToken('in a URL it may be valid for 15 minutes at most');
}

/** A plan as it is, or the permissions of the claim below the ceiling. @throws RpcError token-invalid */
function grantOf(
  claim: unknown,
  { claim: name, plans, defaultPlan, ceiling, bounds }: TokenOptions,
): { permissions: PermissionTexts; ceiling?: PermissionTexts | undefined } {
  const plan = claim === undefined ? defaultPlan : claim;
  if (typeof plan === 'string') {
    const permissions = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
    if (permissions === undefined) throw invalidToken(`the plan in its claim ${name} is unknown`);
    return { permissions };
  }
  if (typeof plan !== 'object' || plan === null || Array.isArray(plan)) {
    throw invalidToken(`the claim ${name} needs permissions or the name of a plan`);
  }
  const permissions: Record<string, string> = {};
  for (const [field, value] of Object.entries(plan)) {
    const text = isClaimable(field) ? permissionText(value) : undefined;
    if (text === undefined) {
      const shown = isClaimable(field) || /^\w{1,40}$/.test(field) ? field : 'a field';
      throw invalidToken(`its claim ${name} may not have ${shown}, or not this value`);
    }
    permissions[field] = text;
  }
  // A key may have more, a claim only below a ceiling of the operator.
  const defaultCeiling = {
    concurrency: String(DEFAULT_CONCURRENCY),
    sockets: String(bounds.socketsPerKey),
    subscriptions: String(bounds.subscriptionsPerKey),
  };
  return { permissions, ceiling: { ...defaultCeiling, ...ceiling } };
}

/** What the token has is not quoted. @throws RpcError token-invalid if its signature is valid and a claim is not */
export function rejectClaims(error: unknown): void {
  const { errors } = jose();
  if (error instanceof errors.JWTExpired) throw invalidToken('it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) {
    throw invalidToken(`its claim ${error.claim} is ${error.reason === 'missing' ? 'missing' : 'not valid here'}`);
  }
}
