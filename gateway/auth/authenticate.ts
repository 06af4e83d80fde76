import { LRUCache } from 'lru-cache';
import { maxEntries } from '../config/max-entries.ts';
import type { Log } from '../config/log.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { addressGroup } from './formats/address-group.ts';
import { compileAccess, type KeyAccess } from './key-access.ts';
import { InvalidPermissionsError } from './permissions/permissions.ts';
import { digestOf, isWellFormedKey, keyMaxLength } from './formats/key.ts';
import type { KeyRecord, KeyStore } from './stores/key-store.ts';

const maxKnown = 10_000;
const maxUnknown = 10_000;
/** How long a key that the store does not know is refused without asking again. */
const unknownTtlMs = 5_000;
/** Over how long the unknown keys of an address are counted. */
const guessWindowMs = 10_000;
/** Of so many addresses. Whoever has more of them makes us forget some, but no memory is lost. */
const maxGuessers = 50_000;

export interface AuthenticatorOptions {
  /** How long a key seen before goes on while the store cannot be asked. */
  readonly keyStaleMaxS: number;
  /** Unknown keys that one address may try in 10 s. Each is a look-up, whatever the caller sends. */
  readonly unknownKeysMax: number;
  /** Whether keys that were made for a first start are let in. Default: no. */
  readonly allowDevelopmentKeys?: boolean;
  readonly log: Log;
}

/** A key as the store last confirmed it. */
interface Known {
  readonly access: KeyAccess;
  readonly confirmedAt: number;
  readonly generation: number;
}

/** One look-up under way, shared by all calls that wait for it. */
interface Lookup {
  /** What the key opens; undefined: nothing. */
  readonly access: Promise<KeyAccess | undefined>;
  /** A change was told of meanwhile: the answer may be from before it. */
  outdated: boolean;
}

/**
 * Lets calls in by their key. What the store said is kept in memory until the store tells of a change, so that most
 * calls are answered at once, without a promise; and it stands in for the store for a while when that is away.
 */
export class Authenticator {
  /**
   * Calls with a well-formed key, by what was known of it: confirmed in memory, in memory while the store is away,
   * found by a look-up, not known (or revoked), not to be looked up.
   */
  readonly counts = { hit: 0, stale: 0, found: 0, unknown: 0, unreachable: 0 };
  readonly #store: KeyStore;
  readonly #staleMaxMs: number;
  readonly #allowDevelopmentKeys: boolean;
  readonly #known = new LRUCache<string, Known>(maxEntries(maxKnown));
  readonly #unknown = new LRUCache<string, true>({ ...maxEntries(maxUnknown), ttl: unknownTtlMs });
  readonly #lookups = new Map<string, Lookup>();
  /** Keys by address that are unknown, or not known yet; an entry ends some time after the first, however many follow. */
  readonly #guesses = new LRUCache<string, { count: number }>({ ...maxEntries(maxGuessers), ttl: guessWindowMs });
  readonly #maxGuesses: number;
  readonly #log: Log;
  /** Counts the occasions on which anything may have changed: what was confirmed before is to be confirmed anew. */
  #generation = 0;

  constructor(store: KeyStore, options: AuthenticatorOptions) {
    this.#store = store;
    this.#maxGuesses = options.unknownKeysMax;
    this.#log = options.log;
    this.#staleMaxMs = options.keyStaleMaxS * 1000;
    this.#allowDevelopmentKeys = options.allowDevelopmentKeys ?? false;
    store.onChange((digest) => {
      this.#invalidate(digest);
    });
  }

  /**
   * @param address of the caller, by which unknown keys are limited
   * @param digest of the key, where it is known
   * @returns what the key opens, its entry rules not yet asked; not a promise where memory has the answer
   * @throws RpcError (or rejects with it): key-missing, key-invalid, key-store-unreachable, unknown-key-limit
   */
  authenticate(keyText: string, address: string, digest = digestOf(keyText)): KeyAccess | Promise<KeyAccess> {
    if (keyText === '') throw new RpcError('key-missing');
    if (keyText.length > keyMaxLength) throw new RpcError('key-invalid');
    const known = this.#known.get(digest);
    if (known === undefined) {
      if (!isWellFormedKey(keyText)) throw new RpcError('key-invalid');
      if (this.#unknown.has(digest)) {
        this.counts.unknown += 1;
        throw new RpcError('key-invalid');
      }
    } else {
      const freshness = this.#freshness(known);
      if (freshness !== undefined) {
        this.counts[freshness] += 1;
        return known.access;
      }
    }
    if (!this.#store.isAvailable) {
      this.counts.unreachable += 1;
      throw new RpcError('key-store-unreachable');
    }
    // A key that was good a moment ago pays nothing for an address that guesses.
    return this.#find(digest, known === undefined ? address : undefined);
  }

  /**
   * For a key whose holder stays connected: whether a call with it would still be let in, now and `aheadMs` from now.
   * Asks the store only where memory cannot tell.
   * @returns what the key opens by now, its entry rules not yet asked
   * @throws RpcError (rejects with it): key-invalid, key-store-unreachable
   */
  confirm(digest: string, marginMs: number): KeyAccess | Promise<KeyAccess> {
    const known = this.#known.get(digest);
    if (known !== undefined && this.#freshness(known, marginMs) !== undefined) return known.access;
    if (!this.#store.isAvailable) return Promise.reject(new RpcError('key-store-unreachable'));
    return this.#find(digest, undefined);
  }

  /** Whether any key can be let in: the store answers, or memory still has keys from when it did. */
  get canCheckKeys(): boolean {
    return this.#store.isAvailable || this.#known.size > 0;
  }

  /** @param guesser address that the look-up counts against, where the key is not known to it */
  async #find(digest: string, guesser: string | undefined): Promise<KeyAccess> {
    if (guesser !== undefined) this.#limitGuessing(guesser);
    const lookup = this.#lookups.get(digest) ?? this.#lookUp(digest, guesser);
    let access: KeyAccess | undefined;
    try {
      access = await lookup.access;
    } catch (error) {
      return this.#withoutStore(digest, error);
    }
    if (access === undefined) {
      this.counts.unknown += 1;
      throw new RpcError('key-invalid');
    }
    this.counts.found += 1;
    return access;
  }

  /** Why memory is enough, `aheadMs` from now; undefined: it is not. */
  #freshness(known: Known, marginMs = 0): 'hit' | 'stale' | undefined {
    const age = performance.now() + marginMs - known.confirmedAt;
    if (known.generation === this.#generation && age < this.#store.freshForMs) return 'hit';
    return !this.#store.isAvailable && age < this.#staleMaxMs ? 'stale' : undefined;
  }

  #lookUp(digest: string, guesser: string | undefined): Lookup {
    // Before anything is known: many guesses at once are many guesses.
    const guesses = guesser === undefined ? undefined : this.#guessesOf(addressGroup(guesser));
    if (guesses !== undefined) guesses.count += 1;
    // Before the question goes out: what is confirmed is the state of no earlier moment.
    const confirmedAt = performance.now();
    const generation = this.#generation;
    const run = async (): Promise<KeyAccess | undefined> => {
      let isGuess = false;
      try {
        const found = await this.#store.find(digest);
        isGuess = found === undefined;
        const access = found !== undefined && this.#isUsable(found) ? this.#accessOf(found) : undefined;
        if (access === undefined) this.#known.delete(digest);
        if (!lookup.outdated) {
          if (access === undefined) this.#unknown.set(digest, true);
          else this.#known.set(digest, { access, confirmedAt, generation });
        }
        return access;
      } finally {
        if (guesses !== undefined && !isGuess) guesses.count -= 1;
        if (this.#lookups.get(digest) === lookup) this.#lookups.delete(digest);
      }
    };
    // Begun a tick later, when `flight` is there for `land` to see.
    const lookup: Lookup = { access: Promise.resolve().then(run), outdated: false };
    this.#lookups.set(digest, lookup);
    return lookup;
  }

  /** The store was thought to be there, but gave no answer. */
  #withoutStore(digest: string, cause: unknown): KeyAccess {
    // Looked for again: a change may have been told of since.
    const known = this.#known.get(digest);
    if (known !== undefined && performance.now() - known.confirmedAt < this.#staleMaxMs) {
      this.counts.stale += 1;
      return known.access;
    }
    this.counts.unreachable += 1;
    throw new RpcError('key-store-unreachable', undefined, { cause });
  }

  #limitGuessing(address: string): void {
    const guesser = addressGroup(address);
    if ((this.#guesses.get(guesser)?.count ?? 0) < this.#maxGuesses) return;
    throw new RpcError('unknown-key-limit', undefined, {
      retryAfterS: Math.max(1, Math.ceil(this.#guesses.getRemainingTTL(guesser) / 1000)),
    });
  }

  #guessesOf(guesser: string): { count: number } {
    const known = this.#guesses.get(guesser);
    if (known !== undefined) return known;
    const guesses = { count: 0 };
    this.#guesses.set(guesser, guesses);
    return guesses;
  }

  /** A record with a rule that nobody understands opens nothing: it was written to restrict. */
  #accessOf(record: KeyRecord): KeyAccess | undefined {
    try {
      return compileAccess(record);
    } catch (error) {
      if (!(error instanceof InvalidPermissionsError)) throw error;
      this.#log.error({ key: record.id, mistakes: error.problems }, 'a key is refused: its record has mistakes');
      return undefined;
    }
  }

  #isUsable(record: KeyRecord): boolean {
    return record.revokedAt === undefined && (record.development !== true || this.#allowDevelopmentKeys);
  }

  #invalidate(digest: string | undefined): void {
    if (digest === undefined) {
      this.#generation += 1;
      this.#unknown.clear();
      for (const lookup of this.#lookups.values()) lookup.outdated = true;
      this.#lookups.clear();
      return;
    }
    this.#known.delete(digest);
    this.#unknown.delete(digest);
    const lookup = this.#lookups.get(digest);
    if (lookup === undefined) return;
    lookup.outdated = true;
    // Who asks from now on shall not be given the outdated answer.
    this.#lookups.delete(digest);
  }
}
