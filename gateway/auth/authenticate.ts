import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { Account } from '../admission/account.ts';
import { Gate } from '../admission/gate.ts';
import { KeyAccounts } from '../admission/key-accounts.ts';
import type { SlotLeases } from '../admission/slot-lease.ts';
import { expiringEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import type { ProcessBounds } from '../config/process-bounds.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { addressGroup } from './formats/address-group.ts';
import { compileAccess, type KeyAccess } from './key-access.ts';
import { InvalidPermissionsError } from './permissions/permissions.ts';
import { recordWithPlan, type Plans } from './permissions/plans.ts';
import { digestOf, isWellFormedKey, KEY_MAX_LENGTH } from './formats/key.ts';
import { KeyTokens } from './key-tokens.ts';
import type { KeyPlaces } from './sent-key.ts';
import { KeyRecordMalformed, type KeyRecord, type KeyStore } from './stores/key-store.ts';
import { RecordCache } from './stores/record-cache.ts';
import { IssuerKeys, KeySetUnavailable } from './tokens/issuer-keys.ts';
import type { AuthConfig } from './tokens/read-auth.ts';
import { Revocations } from './tokens/revocations.ts';
import { TokenAuthenticator } from './token-authenticator.ts';
import { isToken } from './tokens/token-form.ts';

const MAX_CACHED_KEYS = 10_000;
/** Time for which a key without a usable record is rejected without another lookup. */
const REJECTED_TTL_MS = 5_000;
/** Period in which the unknown keys of an address are counted. */
const GUESS_WINDOW_MS = 10_000;
/** Addresses with a count. Above this number the least recently used counts are dropped, so memory is bounded. */
const MAX_GUESSING_ADDRESSES = 50_000;
const MAX_LOGGED_KEYS = 20;
/** Lookups in progress for all addresses that tried too many unknown keys. Those addresses have equal shares. */
const MAX_LIMITED_LOOKUPS = 8;
/** A lookup that waits longer for those is given up. */
const MAX_LIMITED_WAIT_MS = 10_000;

export interface AuthenticatorOptions {
  /** Time for which a cached key stays valid while the store is unavailable. */
  readonly keyStaleMaxS: number;
  /** Whether development keys, made at a first start, are valid. Default: no. */
  readonly allowDevelopmentKeys?: boolean;
  /** Whether keys are accepted in headers. Default: no. */
  readonly keyHeaders?: boolean;
  readonly auth: AuthConfig;
  readonly bounds: ProcessBounds;
  /** Leases of the processes that serve each account together; undefined: this is the only one. */
  readonly leases?: SlotLeases | undefined;
  /** Whether this worker logs what concerns all keys. */
  readonly isFirstWorker: () => boolean;
  readonly log: Log;
}

/** The unknown keys of an address in 10 s. As the account of queued lookups it has the share of one address. */
class Guesses extends Account {
  count = 0;
}

/**
 * Authenticates calls by their key; it does not check the permissions of a request. Keys are cached in a `RecordCache`, so
 * that most calls need no promise.
 */
export class Authenticator {
  /**
   * Calls with a well-formed key, by outcome: cached, cached while the store is unavailable, found by a lookup, unknown
   * or revoked, no lookup possible.
   */
  readonly counts = { hit: 0, stale: 0, found: 0, unknown: 0, unreachable: 0 };
  readonly #store: KeyStore;
  readonly #options: AuthenticatorOptions;
  readonly #staleMaxMs: number;
  readonly #records: RecordCache<KeyAccess>;
  /** Why keys are rejected without another lookup: they are unknown, or their record is malformed. */
  readonly #rejected = new LRUCache<string, 'key-invalid' | 'key-store-unreachable'>(
    expiringEntries(MAX_CACHED_KEYS, REJECTED_TTL_MS),
  );
  /**
   * Unknown keys by address, including lookups in progress. An entry expires 10 s after its first key: later keys do
   * not extend it.
   */
  readonly #guesses = new LRUCache<string, Guesses>(expiringEntries(MAX_GUESSING_ADDRESSES, GUESS_WINDOW_MS));
  /**
   * Lookups of addresses with too many unknown keys. They wait here and are not rejected: a valid key may have the same
   * address. The limit of requests in progress limits how many wait.
   */
  readonly #limitedLookups = new Gate({
    slots: MAX_LIMITED_LOOKUPS,
    maxWaitMs: MAX_LIMITED_WAIT_MS,
    rejection: () => new RpcError('unknown-key-limit', undefined, { retryAfterS: GUESS_WINDOW_MS / 1_000 }),
  });
  readonly #accounts: KeyAccounts;
  #keyPlaces: KeyPlaces | undefined;
  readonly #revocations: Revocations;
  #auth: AuthConfig | undefined;
  #issuerKeys: IssuerKeys | undefined;
  #tokens: TokenAuthenticator | undefined;
  #keyTokens!: KeyTokens;

  constructor(store: KeyStore, options: AuthenticatorOptions) {
    this.#store = store;
    this.#options = options;
    this.#accounts = new KeyAccounts(options.leases);
    this.#staleMaxMs = options.keyStaleMaxS * 1000;
    this.#records = new RecordCache(store, this.#staleMaxMs, MAX_CACHED_KEYS);
    this.#revocations = new Revocations(store, this.#staleMaxMs);
    this.configure(options.auth);
    store.onChange((digest) => {
      this.#changed(digest);
    });
  }

  /** Where requests may have a key or token. Undefined: in the path only. */
  get keyPlaces(): KeyPlaces | undefined {
    return this.#keyPlaces;
  }

  /** Plans of the active auth.yaml. */
  get plans(): Plans {
    return this.#auth?.plans ?? {};
  }

  /** Follows a change of auth.yaml. Keys are looked up again with the new plans, and tokens of open WebSockets verified again. */
  configure(auth: AuthConfig): void {
    const before = this.#auth;
    if (isDeepStrictEqual(auth, before)) return;
    this.#auth = auth;
    if (before !== undefined && !isDeepStrictEqual(auth.plans, before.plans)) {
      this.#changed(undefined);
      const isOfKeys = (plans: Plans, name: string): boolean =>
        Object.hasOwn(plans, name) && plans[name]?.['team'] === undefined;
      const removed = Object.keys(before.plans).filter((name) => !isOfKeys(auth.plans, name));
      if (this.#options.isFirstWorker()) void this.#logPlanChange(removed);
    }
    this.#keyTokens = new KeyTokens(auth.keyTokens);
    const { issuer } = auth;
    const { bounds, log, keyHeaders = false } = this.#options;
    if (issuer?.keySet !== before?.issuer?.keySet) {
      this.#issuerKeys?.close();
      this.#issuerKeys = issuer && new IssuerKeys(issuer.keySet, this.#staleMaxMs, log);
    }
    const keys = this.#issuerKeys;
    const tokens = issuer !== undefined;
    this.#keyPlaces =
      keyHeaders || tokens ? { keyHeaders, tokens, tokensInPath: issuer?.tokensInPath === true } : undefined;
    const tokenOptions = issuer && keys && { ...issuer, plans: auth.plans, keys, bounds, log };
    this.#tokens = tokenOptions && new TokenAuthenticator(tokenOptions, this.#revocations, this.#accounts);
  }

  close(): void {
    this.#issuerKeys?.close();
  }

  /**
   * @param keyText a key or a token
   * @param address of the caller; unknown keys and invalid tokens are limited by address
   * @param digest of the key, if the caller of this function has it
   * @param isInPath whether the URL of the request has it
   * @returns the key's access, with entry permissions not yet checked; no promise if the key is cached
   * @throws RpcError (or rejects with it): key-missing, key-invalid, token-invalid, key-store-unreachable, unknown-key-limit
   */
  authenticate(
    keyText: string,
    address: string,
    digest = digestOf(keyText),
    isInPath = true,
  ): KeyAccess | Promise<KeyAccess> {
    if (keyText === '') throw new RpcError('key-missing');
    const tokens = this.#tokens;
    if (tokens !== undefined && isToken(keyText)) {
      const cached = tokens.cached(digest, isInPath);
      if (cached === undefined) return this.#verifyToken(() => tokens.verify(keyText, digest, isInPath), address);
      this.counts.hit += 1;
      return cached;
    }
    if (keyText.length > KEY_MAX_LENGTH) throw new RpcError('key-invalid');
    const known = this.#records.get(digest);
    if (known === undefined) {
      if (!isWellFormedKey(keyText)) throw new RpcError('key-invalid');
      const rejected = this.#rejected.get(digest);
      if (rejected !== undefined) {
        this.counts[rejected === 'key-invalid' ? 'unknown' : 'unreachable'] += 1;
        throw new RpcError(rejected);
      }
    } else {
      const freshness = this.#records.freshness(known);
      if (freshness !== undefined) {
        this.counts[freshness] += 1;
        return this.#used(known.value);
      }
    }
    if (!this.#store.isAvailable) {
      this.counts.unreachable += 1;
      throw new RpcError('key-store-unreachable');
    }
    // A known key does not count against its address, and is not limited by it.
    return this.#find(digest, known === undefined ? address : undefined);
  }

  /**
   * Narrows a key by the token beside it.
   * @param access of the key
   * @param token undefined: the request has none
   * @param address undefined: of an open WebSocket
   * @throws RpcError (or rejects with it): token-invalid, unknown-key-limit
   */
  withToken(access: KeyAccess, token: string | undefined, address?: string): KeyAccess | Promise<KeyAccess> {
    const narrowed = this.#keyTokens.narrowed(access, token);
    if (narrowed !== undefined || token === undefined) return narrowed ?? access;
    const verify = (): Promise<KeyAccess> => this.#keyTokens.verify(access, token);
    return address === undefined ? verify() : this.#verifyToken(verify, address);
  }

  /**
   * Checks the key or token of an open WebSocket: whether it is valid now and `marginMs` from now. Queries the store only
   * if what is cached is not fresh.
   * @param digest of the key or token
   * @param access before, without the secret of the key
   * @returns its current access, with entry permissions not yet checked
   * @throws RpcError (or rejects with it): key-invalid, token-invalid, key-store-unreachable
   */
  confirm(digest: string, access: KeyAccess, marginMs: number): KeyAccess | Promise<KeyAccess> {
    if (access.token !== undefined && this.#tokens !== undefined) {
      return this.#tokens.confirm(access, access.token, marginMs);
    }
    const { keyToken } = access;
    const own = this.#confirmKey(digest, marginMs);
    const isSame =
      keyToken === undefined
        ? own === access
        : own === keyToken.of && keyToken.config === this.#auth?.keyTokens && clock.unixMs() < keyToken.endsAt;
    return isSame ? access : Promise.resolve(own).then((current) => this.withToken(current, keyToken?.text));
  }

  #confirmKey(digest: string, marginMs: number): KeyAccess | Promise<KeyAccess> {
    const known = this.#records.get(digest);
    if (known !== undefined && this.#records.freshness(known, marginMs) !== undefined) return this.#used(known.value);
    if (!this.#store.isAvailable) return Promise.reject(new RpcError('key-store-unreachable'));
    return this.#find(digest, undefined);
  }

  /** Marks the account of a cached key as used. */
  #used(access: KeyAccess): KeyAccess {
    this.#accounts.renew(access.account.name, access.record.id);
    return access;
  }

  async #verifyToken(verify: () => Promise<KeyAccess>, address: string): Promise<KeyAccess> {
    try {
      const access = await this.#admitted(address, verify);
      this.counts.found += 1;
      return access;
    } catch (error) {
      const isUnknown = error instanceof RpcError && ['token-invalid', 'unknown-key-limit'].includes(error.reason);
      this.counts[isUnknown ? 'unknown' : 'unreachable'] += 1;
      throw error;
    }
  }

  /**
   * Runs a lookup or a verification. An address with too many unknown keys and invalid tokens waits for its share of them.
   * @throws unknown-key-limit in place of such a key or token of this address; else the error of `work` (rejects with it)
   */
  async #admitted<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
    const group = addressGroup(address);
    let guesses = this.#guesses.get(group);
    if (guesses === undefined) this.#guesses.set(group, (guesses = new Guesses(group)));
    const isLimited = guesses.count >= this.#options.bounds.unknownKeysMax;
    // Counted before the outcome is known, so that concurrent guesses are limited too.
    guesses.count += 1;
    let isCounted = false;
    try {
      if (isLimited && !this.#limitedLookups.tryEnter(guesses))
        await this.#limitedLookups.wait(guesses, Infinity, undefined);
      return await work().finally(() => {
        if (isLimited) this.#limitedLookups.leave(guesses);
      });
    } catch (error) {
      isCounted = isGuess(error);
      if (!isLimited || !isCounted) throw error;
      throw new RpcError('unknown-key-limit', undefined, {
        retryAfterS: Math.max(1, Math.ceil(this.#guesses.getRemainingTTL(group) / 1000)),
      });
    } finally {
      if (!isCounted) guesses.count -= 1;
    }
  }

  /** Whether any key or token can be authenticated: the store is available, or one is cached and still valid without it. */
  get canCheckKeys(): boolean {
    return this.#store.isAvailable || this.#tokens?.canConfirm === true || this.#records.hasFresh(() => true);
  }

  /** @param address that an unknown key counts against; undefined if the key was known */
  async #find(digest: string, address: string | undefined): Promise<KeyAccess> {
    try {
      const access = await this.#records.find(digest, (isCurrent) => this.#lookUp(digest, address, isCurrent));
      this.counts.found += 1;
      return access;
    } catch (error) {
      // Unknown, or it has waited too long behind unknown keys of its address. The store is available.
      if (error instanceof RpcError) {
        this.counts.unknown += 1;
        throw error;
      }
      if (error instanceof KeyRecordMalformed) this.#forget(digest);
      const cached = this.#records.valueWithoutStore(digest);
      this.counts[cached === undefined ? 'unreachable' : 'stale'] += 1;
      if (cached === undefined) throw new RpcError('key-store-unreachable', undefined, { cause: error });
      return cached;
    }
  }

  async #lookUp(digest: string, address: string | undefined, isCurrent: () => boolean): Promise<KeyAccess> {
    const reject = (): never => {
      this.#forget(digest);
      if (isCurrent()) this.#rejected.set(digest, 'key-invalid');
      throw new RpcError('key-invalid');
    };
    const find = async (): Promise<KeyRecord> => (await this.#store.find(digest)) ?? reject();
    try {
      const record = await (address === undefined ? find() : this.#admitted(address, find));
      return (this.#isUsable(record) ? this.#accessOf(record) : undefined) ?? reject();
    } catch (error) {
      if (error instanceof KeyRecordMalformed) {
        if (isCurrent()) this.#rejected.set(digest, 'key-store-unreachable');
        this.#options.log.error({ error: error.message }, 'key rejected: its record is malformed');
      }
      throw error;
    }
  }

  /** A key whose record has an invalid permission is rejected: the permission was meant to restrict it. */
  #accessOf(record: KeyRecord): KeyAccess | undefined {
    try {
      return compileAccess(
        recordWithPlan(record, () => this.plans),
        this.#accounts,
      );
    } catch (error) {
      if (!(error instanceof InvalidPermissionsError)) throw error;
      this.#options.log.error({ key: record.id, problems: error.problems }, 'key rejected: its record is invalid');
      return undefined;
    }
  }

  /** Logs the ids of keys whose calls are rejected from now on. @param removed names of plans */
  async #logPlanChange(removed: readonly string[]): Promise<void> {
    const { log } = this.#options;
    if (!this.#store.isAvailable)
      log.warn('plans changed: cached keys keep the former ones until Redis is available, KEY_STALE_MAX_S at most');
    if (removed.length === 0) return;
    // If the store fails, each lookup of such a key logs it.
    const records = await this.#store.entries().catch(() => new Map<string, KeyRecord>());
    const named: string[] = [];
    for (const { id, permissions, revokedAt } of records.values()) {
      await timeSlicer.next();
      if (revokedAt === undefined && removed.includes(permissions?.['plan'] ?? '')) named.push(id);
    }
    if (named.length === 0) return;
    const keys = named.slice(0, MAX_LOGGED_KEYS);
    log.error(
      { plans: removed, keys, count: named.length },
      'keys rejected: their plan is not in auth.yaml, or has a team',
    );
  }

  #isUsable(record: KeyRecord): boolean {
    return (
      record.revokedAt === undefined && (record.development !== true || this.#options.allowDevelopmentKeys === true)
    );
  }

  #changed(digest: string | undefined): void {
    if (digest === undefined) this.#rejected.clear();
    else {
      this.#forget(digest);
      this.#rejected.delete(digest);
    }
    this.#records.changed(digest);
  }

  /** Forgets a key, so that its limit no longer holds for the other keys of its team. */
  #forget(digest: string): void {
    this.#accounts.forget(this.#records.get(digest)?.value.record.id);
    this.#records.delete(digest);
  }
}

/** Whether anybody can send such a key or token. One with an unknown `kid` causes a read of the key set. */
function isGuess(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  return ['key-invalid', 'token-invalid'].includes(error.reason) || error.cause instanceof KeySetUnavailable;
}
