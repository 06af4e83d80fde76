import { clock } from '../../clock/clock.ts';
import { jsonObjectIn } from '../../collections/is-object.ts';
import type { Log } from '../../config/log.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { StoreError, StoreUnreachable } from '../../store/store-error.ts';
import type { ChangeListener, Store } from '../../store/store.ts';
import { isDigest, isKeyId, keyIdOf } from '../formats/key.ts';
import type { PermissionField } from '../permissions/permission-fields.ts';
import type { PermissionTexts } from '../permissions/permissions.ts';

/** Folder of the keys in the store. A record that is no key of Gatehouse has a name that is no digest. */
export const KEY_FOLDER = 'gatehouse:key';

/** A watched store reports each change within a second. The limit covers lost reports, and changes by hand without a report. */
const FRESH_MS = 30_000;
/** A lookup every 0.9 s detects a change within a second. */
const UNWATCHED_FRESH_MS = 900;

/** The record of a key. Stores have only the digest of the key itself. */
export interface KeyRecord {
  /** First 12 hex digits of the digest. Safe to show. */
  readonly id: string;
  readonly name: string;
  /** ISO 8601; empty if an operator wrote the record by hand without it. */
  readonly createdAt: string;
  /** ISO 8601. A revoked key is rejected, but stays in the list. */
  readonly revokedAt?: string;
  /** Key that the gateway made at a first start, for its banner; rejected in production. */
  readonly development?: true;
  /** Permissions and limits, as text by field (`permission-fields.ts`), not validated. Absent: no restriction. */
  readonly permissions?: PermissionTexts;
}

/** A record as stored: without the id, which is derived from the digest. */
export type StoredKey = Omit<KeyRecord, 'id'>;

export type PermissionChange = Readonly<Partial<Record<PermissionField, string | undefined>>>;

/** An entry of the audit log. It has no secret. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** Account of the operating system and host name, or the admin API. */
  readonly by: string;
  readonly act: 'create' | 'update' | 'rotate' | 'revoke' | 'import' | 'log-level' | 'drain' | 'undrain';
  /** Id of the key; `-` for an operation without a key. */
  readonly key: string;
  /** Names of changed permissions, the id of the new key, the new level, or `<network> <upstream>`. */
  readonly detail?: string;
}

/** What the store has for a key is no record: the key can neither be accepted nor be called unknown. */
export class KeyRecordMalformed extends StoreError {
  override readonly name = 'KeyRecordMalformed';
}

/** Builds the record that every store returns. Frozen, because all calls with the key share it. */
export function keyRecord(digest: string, key: StoredKey): KeyRecord {
  const { permissions = {}, ...own } = key;
  const hasPermissions = Object.keys(permissions).length > 0;
  return Object.freeze({
    id: keyIdOf(digest),
    ...own,
    ...(hasPermissions && { permissions: Object.freeze({ ...permissions }) }),
  });
}

/** Permissions after a change. */
export function mergePermissions(permissions: PermissionTexts | undefined, change: PermissionChange): PermissionTexts {
  const entries = Object.entries({ ...permissions, ...change });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/**
 * Builds a record from flat stored fields. Each field that is not part of the record is a permission, known or not.
 * @param flat text by field; a record written by hand may have values of any type
 */
export function keyFromFields(flat: Readonly<Record<string, unknown>>): StoredKey {
  const { name, createdAt, revokedAt, development, ...rest } = flat;
  const permissions = Object.fromEntries(
    Object.entries(rest).map(([field, value]) => [field, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
  return {
    name: textOf(name),
    createdAt: textOf(createdAt),
    ...(revokedAt !== undefined && { revokedAt: textOf(revokedAt) }),
    // Any other value, written by hand, marks the key too: the safe reading.
    ...(development !== undefined &&
      ![false, 'false'].includes(development as string) && { development: true as const }),
    ...(Object.keys(permissions).length > 0 && { permissions }),
  };
}

/** The flat fields of a record, as stored. */
export function fieldsOfKey({ permissions, createdAt, ...own }: StoredKey): Record<string, string | true> {
  return { createdAt, ...own, ...permissions };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The text of a record in the store: its flat fields as JSON. */
function keyText(key: StoredKey): string {
  return JSON.stringify(fieldsOfKey(key));
}

/** @throws KeyRecordMalformed */
function readKeyText(digest: string, text: string): StoredKey {
  const fields = jsonObjectIn(text);
  if (typeof fields?.['name'] !== 'string')
    throw new KeyRecordMalformed(
      `the record of the key ${keyIdOf(digest)} is malformed: expected a JSON object with a name`,
    );
  return keyFromFields(fields);
}

/** A record with its digest and the text that the store has. */
type Found = readonly [digest: string, text: string];

/**
 * Stores key records in a folder of the store, as JSON by digest. While the store is unreachable, each promise is rejected with
 * `StoreUnreachable` within half a second.
 */
export class KeyStore {
  readonly #store: Store;
  readonly #log: Log;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get kind(): Store['kind'] {
    return this.#store.kind;
  }

  /** Where the keys are, for operators: `in Redis (REDIS_URL)`. */
  get location(): string {
    return this.#store.location;
  }

  /** Whether a lookup can succeed now. Read for every call. */
  get isAvailable(): boolean {
    return this.#store.isUp;
  }

  /** Time in ms for which a found record is valid without another lookup, unless `onChange` reports it. */
  get freshForMs(): number {
    return this.#store.isWatching ? FRESH_MS : UNWATCHED_FRESH_MS;
  }

  /** @throws StoreUnreachable for an unknown key while keys of a former version get their new form (rejects with it) */
  async find(digest: string): Promise<KeyRecord | undefined> {
    // Read before: the key may get its new form after the lookup.
    const { isConverting } = this.#store;
    const text = await this.#store.get(KEY_FOLDER, digest);
    if (text === undefined && isConverting)
      throw new StoreUnreachable('keys of a former version get their new form now', 'CONVERTING');
    return text === undefined ? undefined : keyRecord(digest, readKeyText(digest, text));
  }

  /**
   * Adds a key. An existing record does not change, except that a revocation is added to it.
   * @returns whether the key was new
   */
  async add(digest: string, key: StoredKey): Promise<boolean> {
    const { revokedAt } = key;
    const isUrgent = revokedAt !== undefined;
    if (await this.#store.put(KEY_FOLDER, digest, keyText(key), { expected: null, isUrgent })) return true;
    const text = isUrgent ? await this.#store.get(KEY_FOLDER, digest) : undefined;
    if (isUrgent && text !== undefined)
      await this.#edit([digest, text], (existing) => ({ revokedAt, ...existing }), true);
    return false;
  }

  /** All keys, revoked ones too, by digest, in any order. A malformed record is left out. */
  async entries(): Promise<ReadonlyMap<string, KeyRecord>> {
    const records = new Map<string, KeyRecord>();
    for (const [digest, text] of await this.#store.scan(KEY_FOLDER)) {
      const pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      if (!isDigest(digest)) continue;
      try {
        records.set(digest, keyRecord(digest, readKeyText(digest, text)));
      } catch (error) {
        if (!(error instanceof KeyRecordMalformed)) throw error;
        this.#log.error({ error: error.message }, 'a key is left out of the list');
      }
    }
    return records;
  }

  /** The key with this id (12 hex digits), revoked or not. @throws StoreError if several keys have it (rejects with it) */
  async show(id: string): Promise<KeyRecord | undefined> {
    const [digest, text] = (await this.#withIds([id]))(id) ?? [];
    return digest === undefined || text === undefined ? undefined : keyRecord(digest, readKeyText(digest, text));
  }

  /** Revokes the key with this id. @returns its new record; undefined if there is none */
  async revoke(id: string): Promise<KeyRecord | undefined> {
    return (await this.revoker([id]))(id);
  }

  /** Reads the records of keys once for all. @returns revokes one of them, as `revoke` does */
  async revoker(ids: readonly string[]): Promise<(id: string) => Promise<KeyRecord | undefined>> {
    const found = await this.#withIds(ids);
    return async (id) => this.#edit(found(id), revoked, true);
  }

  /** Removes a record, for a revocation of tokens that is undone. @returns whether there was one */
  remove(digest: string): Promise<boolean> {
    return this.#store.delete(KEY_FOLDER, digest);
  }

  /** Gives the key with this id another name. @returns as `revoke` does */
  async rename(id: string, name: string): Promise<KeyRecord | undefined> {
    return this.#edit((await this.#withIds([id]))(id), (key) => ({ ...key, name }));
  }

  /**
   * Sets permissions of the key with this id, and removes those that are undefined.
   * @param change a function gets the permissions that are replaced, again if another process has changed them meanwhile
   * @returns as `revoke` does
   */
  async update(
    id: string,
    change: PermissionChange | ((permissions: PermissionTexts) => PermissionChange),
  ): Promise<KeyRecord | undefined> {
    return this.#edit((await this.#withIds([id]))(id), (key) => {
      const { permissions = {} } = key;
      const changed = typeof change === 'function' ? change(permissions) : change;
      return { ...key, permissions: mergePermissions(permissions, changed) };
    });
  }

  /** Appends an entry to the audit log. Redis retains about 10,000 entries, a file all. */
  audit(entry: AuditEntry): Promise<void> {
    return this.#store.append('gatehouse:audit', { ...entry });
  }

  /** Calls `listener` with the digest of each key that was added, changed or removed; undefined: any key may have changed. */
  onChange(listener: ChangeListener): void {
    this.#store.watch(KEY_FOLDER, (name) => {
      listener(name !== undefined && isDigest(name) ? name : undefined);
    });
  }

  /** Finds the records with the ids. @returns the one of an id, and throws StoreError if several have it */
  async #withIds(ids: readonly string[]): Promise<(id: string) => Found | undefined> {
    const [first, ...others] = ids.filter(isKeyId);
    if (first === undefined) return () => undefined;
    const byId = new Map<string, Found[]>();
    for (const found of await this.#store.scan(KEY_FOLDER, others.length === 0 ? first : '')) {
      const own = byId.get(keyIdOf(found[0]));
      if (own === undefined) byId.set(keyIdOf(found[0]), [found]);
      else own.push(found);
    }
    return (id) => {
      const [one, ...more] = byId.get(id) ?? [];
      if (more.length > 0) throw new StoreError(`${more.length + 1} keys have the id ${id}: use redis-cli`);
      return one;
    };
  }

  /** Edits a record, again if another process has changed it meanwhile. @returns undefined if there is none */
  async #edit(
    found: Found | undefined,
    edit: (key: StoredKey) => StoredKey,
    isUrgent = false,
  ): Promise<KeyRecord | undefined> {
    if (found === undefined) return undefined;
    const [digest] = found;
    for (
      let text: string | undefined = found[1];
      text !== undefined;
      text = await this.#store.get(KEY_FOLDER, digest)
    ) {
      const key = edit(readKeyText(digest, text));
      const options = { expected: text, isUrgent };
      if (keyText(key) === text || (await this.#store.put(KEY_FOLDER, digest, keyText(key), options)))
        return keyRecord(digest, key);
    }
    return undefined;
  }
}

function revoked(key: StoredKey): StoredKey {
  return { ...key, revokedAt: key.revokedAt ?? new Date(clock.unixMs()).toISOString() };
}

/** All keys of a store, oldest first. */
export async function listKeys(store: Pick<KeyStore, 'entries'>): Promise<KeyRecord[]> {
  return [...(await store.entries()).values()].sort(byAge);
}

function byAge(a: KeyRecord, b: KeyRecord): number {
  return a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id);
}
