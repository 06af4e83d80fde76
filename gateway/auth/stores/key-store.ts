import { StoreError } from '../../store/store-error.ts';
import type { RedisMemory } from '../../redis/memory.ts';
import { keyIdOf } from '../formats/key.ts';
import type { PermissionField } from '../permissions/permission-fields.ts';
import type { PermissionTexts } from '../permissions/permissions.ts';

/** The record of a key. Stores have only the digest of the key itself. */
export interface KeyRecord {
  /** First 12 hex digits of the digest. Safe to show. */
  readonly id: string;
  readonly name: string;
  /** ISO 8601; empty if an operator wrote the record by hand without it. */
  readonly createdAt: string;
  /** ISO 8601. A revoked key is rejected, but stays in the list. */
  readonly revokedAt?: string;
  /** Made by the gateway at a first start, for its banner; rejected in production. */
  readonly development?: true;
  /** Permissions and limits, as text by field (`permission-fields.ts`), not validated. Absent: no restriction. */
  readonly permissions?: PermissionTexts;
}

/** A record as stored: without the id, which is derived from the digest. */
export type StoredKey = Omit<KeyRecord, 'id'>;

/**
 * Stores key records. While the store is unreachable, each promise is rejected with `StoreUnreachable` within half a
 * second.
 */
export interface KeyStore {
  /** Its name in `open-key-store.ts`. */
  readonly kind: string;
  /** Where the keys are, for operators: `in Redis (REDIS_URL)`. */
  readonly location: string;
  /** Whether a lookup can succeed now. A plain field, cheap to read for every call. */
  readonly isAvailable: boolean;
  /** Whether the disk of the store is full, so that keys can be read and not changed. */
  readonly isFull: boolean;
  /**
   * Time in ms for which a found record is valid without another lookup, unless `onChange` reports it. Shorter while
   * the store cannot report changes, so read it each time.
   */
  readonly freshForMs: number;
  /** How full its memory is; undefined: its place is a disk. */
  readonly readMemory?: () => Promise<RedisMemory>;
  /** Waits until the store is available. @throws StoreUnreachable after `timeoutMs` */
  waitUntilReady(timeoutMs: number): Promise<void>;
  find(digest: string): Promise<KeyRecord | undefined>;
  /**
   * Adds a key. An existing record does not change, except that a revocation is added to it.
   * @returns whether the key was new
   */
  add(digest: string, key: StoredKey): Promise<boolean>;
  /** All keys, revoked ones too, by digest, in any order. */
  entries(): Promise<ReadonlyMap<string, KeyRecord>>;
  /** The key with this id (12 hex digits), revoked or not. */
  show(id: string): Promise<KeyRecord | undefined>;
  /** Revokes the key with this id. @returns its new record; undefined if there is none */
  revoke(id: string): Promise<KeyRecord | undefined>;
  /**
   * Revokes keys as `revoke` does, some at the same moment.
   * @param onRevoked called with each new record; part of its outcome
   * @returns an outcome for each id, in their order
   */
  revokeAll(ids: readonly string[], onRevoked: RevocationListener): Promise<RevocationOutcome[]>;
  /** Removes a record, for a revocation of tokens that is undone. @returns whether there was one */
  remove(digest: string): Promise<boolean>;
  /** Gives the key with this id another name. @returns as `revoke` does */
  rename(id: string, name: string): Promise<KeyRecord | undefined>;
  /** Sets permissions of the key with this id, and removes those that are undefined. @returns as `revoke` does */
  update(id: string, change: PermissionChange): Promise<KeyRecord | undefined>;
  /** Appends an entry to the audit log. Redis retains about 10,000 entries, a file all. */
  audit(entry: AuditEntry): Promise<void>;
  /** Calls `listener` with the digest of each key that was added, changed or removed; undefined: any key may have changed. */
  onChange(listener: ChangeListener): void;
  /** Closes sockets and timers. */
  close(): Promise<void>;
}

export type PermissionChange = Readonly<Partial<Record<PermissionField, string | undefined>>>;

/** An entry of the audit log. It has no secret. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** Account of the operating system and host name, or the admin API. */
  readonly by: string;
  readonly act: 'create' | 'update' | 'rotate' | 'revoke' | 'import' | 'log-level' | 'drain' | 'undrain';
  /** Its id; `-` for an operation without a key. */
  readonly key: string;
  /** Names of changed permissions, the id of the new key, the new level, or `<network> <upstream>`. */
  readonly detail?: string;
}

export type RevocationListener = (record: KeyRecord) => Promise<void>;
export type RevocationOutcome = PromiseSettledResult<KeyRecord | undefined>;

export type ChangeListener = (digest: string | undefined) => void;

/** What the store has for a key is no record: the key can neither be accepted nor be called unknown. */
export class KeyRecordMalformed extends StoreError {
  override readonly name = 'KeyRecordMalformed';
}

/** Builds the record that every store returns. Frozen, because all calls with the key share it. */
export function keyRecord(digest: string, key: StoredKey): KeyRecord {
  return Object.freeze({
    id: keyIdOf(digest),
    name: key.name,
    createdAt: key.createdAt,
    ...(key.revokedAt !== undefined && { revokedAt: key.revokedAt }),
    ...(key.development === true && { development: true as const }),
    ...(key.permissions !== undefined &&
      Object.keys(key.permissions).length > 0 && { permissions: Object.freeze({ ...key.permissions }) }),
  });
}

/** Permissions after a change. */
export function mergePermissions(permissions: PermissionTexts | undefined, change: PermissionChange): PermissionTexts {
  const entries = Object.entries({ ...permissions, ...change });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/**
 * Builds a record from flat stored fields. Each field that is not part of the record is a permission, known or not.
 * @param flat text by field; a key file edited by hand may have values of any type
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

/** All keys of a store, oldest first. */
export async function listKeys(store: Pick<KeyStore, 'entries'>): Promise<KeyRecord[]> {
  return [...(await store.entries()).values()].sort(byAge);
}

function byAge(a: KeyRecord, b: KeyRecord): number {
  return a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id);
}
