import { LRUCache } from 'lru-cache';
import { clock } from '../../clock/clock.ts';
import { maxEntries } from '../../config/max-entries.ts';
import type { KeyStore } from './key-store.ts';

/** A value that was made from a record, as the store last confirmed it. */
export interface Known<Value> {
  readonly value: Value;
  readonly confirmedAt: number;
  readonly generation: number;
}

/** One lookup in progress, shared by all that wait for it. */
interface Lookup<Value> {
  found: Promise<Value> | undefined;
  /** Whether the record changed during the lookup: what was found may be older than the change. */
  isOutdated: boolean;
}

/** @param isCurrent whether the record has not changed since */
type LookUp<Value> = (isCurrent: () => boolean) => Promise<Value>;

/**
 * Caches values made from records of the key store, by digest: until the record changes, and for a limited time while the store
 * is unavailable. So most calls need no promise.
 */
export class RecordCache<Value> {
  readonly #store: KeyStore;
  readonly #staleMaxMs: number;
  readonly #known: LRUCache<string, Known<Value>>;
  readonly #lookups = new Map<string, Lookup<Value>>();
  /** Rises when any record may have changed: values of an older generation need another lookup. */
  #generation = 0;

  /** @param staleMaxMs for this time a value stays valid while the store is unavailable  @param max number of values */
  constructor(store: KeyStore, staleMaxMs: number, max: number) {
    this.#store = store;
    this.#staleMaxMs = staleMaxMs;
    this.#known = new LRUCache(maxEntries(max));
  }

  get(digest: string): Known<Value> | undefined {
    return this.#known.get(digest);
  }

  /** Whether a value suffices, and is still valid `marginMs` from now; undefined: it needs a lookup. */
  freshness({ confirmedAt, generation }: Known<Value>, marginMs = 0): 'hit' | 'stale' | undefined {
    const age = clock.now() + marginMs - confirmedAt;
    if (!this.#store.isAvailable) return age < this.#staleMaxMs ? 'stale' : undefined;
    return generation === this.#generation && age < this.#store.freshForMs ? 'hit' : undefined;
  }

  /** Whether one of these values is valid without a lookup. */
  hasFresh(isWanted: (value: Value) => boolean): boolean {
    for (const known of this.#known.values())
      if (isWanted(known.value) && this.freshness(known) !== undefined) return true;
    return false;
  }

  /** The value after a failed lookup. To be read then: the record may have changed during the lookup. */
  valueWithoutStore(digest: string): Value | undefined {
    const known = this.#known.get(digest);
    return known !== undefined && clock.now() - known.confirmedAt < this.#staleMaxMs ? known.value : undefined;
  }

  /** Finds a record, with one lookup for all that wait for it. @throws the error of `lookUp` (rejects with it) */
  find(digest: string, lookUp: LookUp<Value>): Promise<Value> {
    const lookup: Lookup<Value> = this.#lookups.get(digest) ?? { found: undefined, isOutdated: false };
    this.#lookups.set(digest, lookup);
    return (lookup.found ??= this.#find(digest, lookup, lookUp));
  }

  async #find(digest: string, lookup: Lookup<Value>, lookUp: LookUp<Value>): Promise<Value> {
    // Taken before the request is sent: the record is at least as new as this.
    const [confirmedAt, generation] = [clock.now(), this.#generation];
    try {
      const value = await lookUp(() => !lookup.isOutdated);
      if (!lookup.isOutdated) this.#known.set(digest, { value, confirmedAt, generation });
      return value;
    } finally {
      if (this.#lookups.get(digest) === lookup) this.#lookups.delete(digest);
    }
  }

  delete(digest: string): void {
    this.#known.delete(digest);
  }

  /** Follows a change of a record. Later calls start a new lookup. @param digest undefined: any record may have changed */
  changed(digest: string | undefined): void {
    if (digest === undefined) this.#generation += 1;
    else this.#known.delete(digest);
    for (const each of digest === undefined ? [...this.#lookups.keys()] : [digest]) {
      const lookup = this.#lookups.get(each);
      if (lookup !== undefined) lookup.isOutdated = true;
      this.#lookups.delete(each);
    }
  }
}
