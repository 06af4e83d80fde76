import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { clock } from '../clock/clock.ts';
import { Account } from '../admission/account.ts';
import { Gate } from '../admission/gate.ts';
import { KeyAccounts } from '../admission/key-accounts.ts';
import type { SlotLeases } from '../admission/slot-lease.ts';
import { expiringEntries, maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import type { ProcessBounds } from '../config/process-bounds.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { addressGroup } from './formats/address-group.ts';
import { compileAccess, type KeyAccess } from './key-access.ts';
import { InvalidPermissionsError } from './permissions/permissions.ts';
import { digestOf, isWellFormedKey, KEY_MAX_LENGTH } from './formats/key.ts';
import { KeyTokens } from './key-tokens.ts';
import type { KeyPlaces } from './sent-key.ts';
import { KeyRecordMalformed, type KeyRecord, type KeyStore } from './stores/key-store.ts';
import { KeySetUnavailable, openIssuerKeys, type IssuerKeys } from './tokens/issuer-keys.ts';
import type { AuthConfig } from './tokens/read-auth.ts';
import { Revocations } from './tokens/revocations.ts';
import { TokenAuthenticator } from './token-authenticator.ts';
import { isToken } from './tokens/token-form.ts';

const MAX_CACHED_KEYS = 10_000;
/** For this time a key without a usable record is rejected without another lookup. */
const REJECTED_TTL_MS = 5_000;
/** Period in which the unknown keys of an address are counted. */
const GUESS_WINDOW_MS = 10_000;
/** Addresses with a count. Above this number the least recently used counts are dropped, so memory is bounded. */
const MAX_GUESSING_ADDRESSES = 50_000;
/** Lookups in progress for all addresses that tried too many unknown keys. Those addresses have equal shares. */
const MAX_LIMITED_LOOKUPS = 8;
/** A lookup that waits longer for those is given up. */
const MAX_LIMITED_WAIT_MS = 10_000;

export interface AuthenticatorOptions {
  /** For this time a cached key stays valid while the store is unavailable. */
  readonly keyStaleMaxS: number;
  /** Whether development keys, made at a first start, are valid. Default: no. */
  readonly allowDevelopmentKeys?: boolean;
  /** Whether keys are accepted in headers. Default: no. */
  readonly keyHeaders?: boolean;
  readonly auth: AuthConfig;
  readonly bounds: ProcessBounds;
  /** Of the workers that serve each account together; undefined: this is the only one. */
  readonly leases?: SlotLeases | undefined;
  readonly log: Log;
}

/** A cached key, as the store last confirmed it. */
interface KnownKey {
  readonly access: KeyAccess;
  readonly confirmedAt: number;
  readonly generation: number;
}

/** The unknown keys of an address in 10 s. As the account of queued lookups it has the share of one address. */
class Guesses extends Account {
  count = 0;
}

/** One lookup in progress, shared by all calls that wait for it. */
interface Lookup {
  /** Undefined if the key is not valid. */
  readonly access: Promise<KeyAccess | undefined>;
  /** Whether the key changed during the lookup: the found record may be older than the change. */
  isOutdated: boolean;
}

/**
 * Authenticates calls by their key; it does not check the permissions of a request. Keys are cached until the store
 * reports a change, so most calls need no promise. Cached keys stay valid for a limited time while the store is
 * unavailable.
 */
export class Authenticator {
  /**
   * Calls with a well-formed key, by outcome: cached, cached while the store is unavailable, found by a lookup, unknown
   * or revoked, no lookup possible.
   */
  readonly counts = { hit: 0, stale: 0, found: 0, unknown: 0, unreachable: 0 };
  readonly #store: KeyStore;
  readonly #staleMaxMs: number;
  readonly #allowDevelopmentKeys: boolean;
  readonly #known = new LRUCache<string, KnownKey>(maxEntries(MAX_CACHED_KEYS));
  /** Why keys are rejected without another lookup: they are unknown, or their record is malformed. */
  readonly #rejected = new LRUCache<string, 'key-invalid' | 'key-store-unreachable'>(
    expiringEntries(MAX_CACHED_KEYS, REJECTED_TTL_MS),
  );
  readonly #lookups = new Map<string, Lookup>();
  /**
   * Unknown keys by address, including lookups in progress. An entry expires 10 s after its first key: later keys do
   * not extend it.
   */
  readonly #guesses = new LRUCache<string, Guesses>(expiringEntries(MAX_GUESSING_ADDRESSES, GUESS_WINDOW_MS));
  readonly #bounds: ProcessBounds;
  /**
   * Lookups of addresses with too many unknown keys. They wait here and are not rejected: a valid key may have the same
   * address. The limit of requests in progress limits how many wait.
   */
  readonly #limitedLookups = new Gate({
    slots: MAX_LIMITED_LOOKUPS,
    maxWaitMs: MAX_LIMITED_WAIT_MS,
    rejection: () => new RpcError('unknown-key-limit', undefined, { retryAfterS: GUESS_WINDOW_MS / 1_000 }),
  });
  readonly #log: Log;
  readonly #accounts: KeyAccounts;
  readonly #keyHeaders: boolean;
  #keyPlaces: KeyPlaces | undefined;
  readonly #revocations: Revocations;
  #auth: AuthConfig | undefined;
  #issuerKeys: IssuerKeys | undefined;
  #tokens: TokenAuthenticator | undefined;
  #keyTokens!: KeyTokens;
  /** Rises when any key may have changed: keys of an older generation need another lookup. */
  #generation = 0;

  constructor(store: KeyStore, options: AuthenticatorOptions) {
    this.#store = store;
    this.#bounds = options.bounds;
    this.#log = options.log;
    this.#accounts = new KeyAccounts(options.leases);
    this.#staleMaxMs = options.keyStaleMaxS * 1000;
    this.#allowDevelopmentKeys = options.allowDevelopmentKeys ?? false;
    this.#keyHeaders = options.keyHeaders ?? false;
    this.#revocations = new Revocations(store, options.keyStaleMaxS);
    this.configure(options.auth);
    store.onChange((digest) => {
      this.#invalidate(digest);
    });
  }

  /** Where requests may have a key or token. Undefined: in the path only. */
  get keyPlaces(): KeyPlaces | undefined {
    return this.#keyPlaces;
  }

  /** Follows a change of auth.yaml. Tokens of open WebSockets are verified again. */
  configure(auth: AuthConfig): void {
    const before = this.#auth;
    if (isDeepStrictEqual(auth, before)) return;
    this.#auth = auth;
    this.#keyTokens = new KeyTokens(auth.keyTokens);
    const { issuer } = auth;
    if (issuer?.keySet !== before?.issuer?.keySet) {
      this.#issuerKeys?.close();
      this.#issuerKeys = issuer && openIssuerKeys(issuer.keySet, this.#staleMaxMs, this.#log);
    }
    const keys = this.#issuerKeys;
    const places = { keyHeaders: this.#keyHeaders, tokens: issuer !== undefined };
    this.#keyPlaces =
      places.keyHeaders || places.tokens ? { ...places, tokensInPath: issuer?.tokensInPath === true } : undefined;
    this.#tokens =
      issuer &&
      keys &&
      new TokenAuthenticator(
        { ...issuer, keys, bounds: this.#bounds, log: this.#log },
        this.#revocations,
        this.#accounts,
      );
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
      if (cached === undefined)
        return this.#verifyToken(() => tokens.verify(keyText, digest, isInPath), addressGroup(address));
      this.counts.hit += 1;
      return cached;
    }
    if (keyText.length > KEY_MAX_LENGTH) throw new RpcError('key-invalid');
    const known = this.#known.get(digest);
    if (known === undefined) {
      if (!isWellFormedKey(keyText)) throw new RpcError('key-invalid');
      const rejected = this.#rejected.get(digest);
      if (rejected !== undefined) {
        this.counts[rejected === 'key-invalid' ? 'unknown' : 'unreachable'] += 1;
        throw new RpcError(rejected);
      }
    } else {
      const freshness = this.#freshness(known);
      if (freshness !== undefined) {
        this.counts[freshness] += 1;
        this.#accounts.renew(known.access.account.name, known.access.record.id);
        return known.access;
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
    return address === undefined ? verify() : this.#verifyToken(verify, addressGroup(address));
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
    const known = this.#known.get(digest);
    if (known !== undefined && this.#freshness(known, marginMs) !== undefined) {
      this.#accounts.renew(known.access.account.name, known.access.record.id);
      return known.access;
    }
    if (!this.#store.isAvailable) return Promise.reject(new RpcError('key-store-unreachable'));
    return this.#find(digest, undefined);
  }

  /** An address with too many invalid tokens waits for its share of verifications, as for lookups of keys. */
  async #verifyToken(verify: () => Promise<KeyAccess>, group: string): Promise<KeyAccess> {
    const guesses = this.#guessesOf(group);
    const isLimited = guesses.count >= this.#bounds.unknownKeysMax;
    guesses.count += 1;
    let isGuess = false;
    try {
      if (isLimited && !this.#limitedLookups.tryEnter(guesses)) {
        await this.#limitedLookups.wait(guesses, Infinity, undefined);
      }
      const access = await verify().finally(() => {
        if (isLimited) this.#limitedLookups.leave(guesses);
      });
      this.counts.found += 1;
      return access;
    } catch (error) {
      const { reason, cause } = error instanceof RpcError ? error : { reason: undefined, cause: undefined };
      // Anybody can send an unknown `kid`, for which the key set is read.
      isGuess = reason === 'token-invalid' || cause instanceof KeySetUnavailable;
      this.counts[reason === 'token-invalid' || reason === 'unknown-key-limit' ? 'unknown' : 'unreachable'] += 1;
      throw isGuess && isLimited ? this.#guessLimitOf(group) : error;
    } finally {
      if (!isGuess) guesses.count -= 1;
    }
  }

  /** Whether any key or token can be authenticated: the store is available, or one is cached and still valid without it. */
  get canCheckKeys(): boolean {
    if (this.#store.isAvailable || this.#tokens?.canConfirm === true) return true;
    for (const known of this.#known.values()) if (this.#freshness(known) !== undefined) return true;
    return false;
  }

  /** @param address that an unknown key counts against; undefined if the key was known */
  async #find(digest: string, address: string | undefined): Promise<KeyAccess> {
    const isLimited = address !== undefined && this.#isLimited(addressGroup(address));
    const lookup = this.#lookups.get(digest) ?? this.#startLookup(digest, address);
    let access: KeyAccess | undefined;
    try {
      access = await lookup.access;
    } catch (error) {
      // It has waited too long behind unknown keys of its address. The store is available.
      if (error instanceof RpcError) {
        this.counts.unknown += 1;
        throw error;
      }
      if (error instanceof KeyRecordMalformed) this.#forget(digest);
      return this.#accessWithoutStore(digest, error);
    }
    if (access === undefined) {
      this.counts.unknown += 1;
      throw isLimited ? this.#guessLimitOf(addressGroup(address)) : new RpcError('key-invalid');
    }
    this.counts.found += 1;
    return access;
  }

  /** Whether the cached key suffices, and is still valid `marginMs` from now; undefined if it needs a lookup. */
  #freshness(known: KnownKey, marginMs = 0): 'hit' | 'stale' | undefined {
    const age = clock.now() + marginMs - known.confirmedAt;
    if (known.generation === this.#generation && age < this.#store.freshForMs) return 'hit';
    return !this.#store.isAvailable && age < this.#staleMaxMs ? 'stale' : undefined;
  }

  #startLookup(digest: string, address: string | undefined): Lookup {
    const guesses = address === undefined ? undefined : this.#guessesOf(addressGroup(address));
    const limited = guesses !== undefined && guesses.count >= this.#bounds.unknownKeysMax ? guesses : undefined;
    // Counted before the result is known, so that concurrent guesses are limited too.
    if (guesses !== undefined) guesses.count += 1;
    const run = async (): Promise<KeyAccess | undefined> => {
      let isGuess = false;
      try {
        if (limited !== undefined && !this.#limitedLookups.tryEnter(limited)) {
          await this.#limitedLookups.wait(limited, Infinity, undefined);
        }
        // Taken before the request is sent: the record is at least as new as this.
        const confirmedAt = clock.now();
        const generation = this.#generation;
        const found = await this.#store.find(digest).finally(() => {
          if (limited !== undefined) this.#limitedLookups.leave(limited);
        });
        isGuess = found === undefined;
        const access = found !== undefined && this.#isUsable(found) ? this.#accessOf(found) : undefined;
        if (access === undefined) this.#forget(digest);
        if (!lookup.isOutdated) {
          if (access === undefined) this.#rejected.set(digest, 'key-invalid');
          else this.#known.set(digest, { access, confirmedAt, generation });
        }
        return access;
      } catch (error) {
        if (error instanceof KeyRecordMalformed) {
          if (!lookup.isOutdated) this.#rejected.set(digest, 'key-store-unreachable');
          this.#log.error({ error: error.message }, 'key rejected: its record is malformed');
        }
        throw error;
      } finally {
        if (guesses !== undefined && !isGuess) guesses.count -= 1;
        if (this.#lookups.get(digest) === lookup) this.#lookups.delete(digest);
      }
    };
    // `run` starts one microtask later, when `lookup` is assigned.
    const lookup: Lookup = { access: Promise.resolve().then(run), isOutdated: false };
    this.#lookups.set(digest, lookup);
    return lookup;
  }

  /** Falls back to the cached key after a failed lookup. */
  #accessWithoutStore(digest: string, cause: unknown): KeyAccess {
    // Read again: the key may have changed during the lookup.
    const known = this.#known.get(digest);
    if (known !== undefined && clock.now() - known.confirmedAt < this.#staleMaxMs) {
      this.counts.stale += 1;
      return known.access;
    }
    this.counts.unreachable += 1;
    throw new RpcError('key-store-unreachable', undefined, { cause });
  }

  #isLimited(group: string): boolean {
    return (this.#guesses.get(group)?.count ?? 0) >= this.#bounds.unknownKeysMax;
  }

  #guessLimitOf(group: string): RpcError {
    return new RpcError('unknown-key-limit', undefined, {
      retryAfterS: Math.max(1, Math.ceil(this.#guesses.getRemainingTTL(group) / 1000)),
    });
  }

  #guessesOf(group: string): Guesses {
    const existing = this.#guesses.get(group);
    if (existing !== undefined) return existing;
    const guesses = new Guesses(group);
    this.#guesses.set(group, guesses);
    return guesses;
  }

  /** A key whose record has an invalid permission is rejected: the permission was meant to restrict it. */
  #accessOf(record: KeyRecord): KeyAccess | undefined {
    try {
      return compileAccess(record, this.#accounts);
    } catch (error) {
      if (!(error instanceof InvalidPermissionsError)) throw error;
      this.#log.error({ key: record.id, problems: error.problems }, 'key rejected: its record is invalid');
      return undefined;
    }
  }

  #isUsable(record: KeyRecord): boolean {
    return record.revokedAt === undefined && (record.development !== true || this.#allowDevelopmentKeys);
  }

  #invalidate(digest: string | undefined): void {
    if (digest === undefined) {
      this.#generation += 1;
      this.#rejected.clear();
      for (const lookup of this.#lookups.values()) lookup.isOutdated = true;
      this.#lookups.clear();
      return;
    }
    this.#forget(digest);
    this.#rejected.delete(digest);
    const lookup = this.#lookups.get(digest);
    if (lookup === undefined) return;
    lookup.isOutdated = true;
    this.#lookups.delete(digest); // Later calls start a new lookup.
  }

  /** Its limit no longer holds for the other keys of its team. */
  #forget(digest: string): void {
    this.#accounts.forget(this.#known.get(digest)?.access.record.id);
    this.#known.delete(digest);
  }
}
