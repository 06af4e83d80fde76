import { keyIdOf } from '../formats/key.ts';
import type { PermissionField, PermissionTexts } from '../permissions/permissions.ts';

/** What is known of a key. The key itself is known to nobody but its holder; stores have its digest. */
export interface KeyRecord {
  /** First 12 hex digits of the digest. Safe to show. */
  readonly id: string;
  readonly name: string;
  /** ISO 8601; empty where an operator wrote the record by hand and left it out. */
  readonly createdAt: string;
  /** ISO 8601. A revoked key stays listed, but opens nothing. */
  readonly revokedAt?: string;
  /** Made by the gateway for the banner of a first start; refused in production. */
  readonly development?: true;
  /** What it may do and how much, as text by field (`key-rules.ts`); absent: everything. As written, so unchecked. */
  readonly permissions?: PermissionTexts;
}

/** A record as it is stored: the id follows from the digest. */
export type StoredKey = Omit<KeyRecord, 'id'>;

/**
 * Where keys live. All of it may be used while the store cannot be reached; then the promises are rejected with
 * `KeyStoreUnreachable` at once or after half a second at the latest.
 */
export interface KeyStore {
  readonly kind: 'redis' | 'file';
  /** Whether a look-up has a chance at the moment. Costs nothing to read. */
  readonly isAvailable: boolean;
  /**
   * Milliseconds that a record found may be trusted without asking again, provided that `onChange` said nothing. It
   * shrinks while the store cannot tell of changes, so read it each time.
   */
  readonly freshForMs: number;
  /** Waits until the store answers. @throws KeyStoreUnreachable if it does not within `limitMs`. */
  waitUntilReady(timeoutMs: number): Promise<void>;
  find(digest: string): Promise<KeyRecord | undefined>;
  /**
   * Adds a key. One that is there already is left as it is, save that a revocation is carried over, never undone.
   * @returns whether it was new.
   */
  add(digest: string, key: StoredKey): Promise<boolean>;
  /** All keys, revoked ones too, oldest first. */
  list(): Promise<KeyRecord[]>;
  /** The key with this id (12 hex digits), revoked or not. */
  show(id: string): Promise<KeyRecord | undefined>;
  /** Revokes the key with this id. @returns its record now, or undefined where there is none. */
  revoke(id: string): Promise<KeyRecord | undefined>;
  /** Writes rules of the key with this id, and takes away those that are undefined. @returns as `revoke` does. */
  update(id: string, change: PermissionChange): Promise<KeyRecord | undefined>;
  /** Notes what was done to a key, by whom; kept as long as there is room. Nothing secret. */
  audit(act: AuditEntry): Promise<void>;
  /** `listener` hears the digest of each key that was added, changed or removed; undefined: any may have been. */
  onChange(listener: ChangeListener): void;
  /** Lets go of sockets, files and timers. */
  close(): Promise<void>;
}

export type PermissionChange = Readonly<Partial<Record<PermissionField, string | undefined>>>;

/** A line of the audit. */
export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  /** The account at the operating system, and the machine. */
  readonly by: string;
  readonly act: 'create' | 'update' | 'rotate' | 'revoke' | 'import';
  readonly key: string;
  /** What else there is to say: names of rules, another key's id. */
  readonly detail?: string;
}

export type ChangeListener = (digest: string | undefined) => void;

/** Something is wrong with the store. The message is fit for an operator's eyes: no URL, no secret. */
export class KeyStoreError extends Error {}

/** The store gave no answer. */
export class KeyStoreUnreachable extends KeyStoreError {
  override readonly name = 'KeyStoreUnreachable';
  /** Of the operating system (`ECONNREFUSED`) or of Redis (`WRONGPASS`). */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The one shape that every store makes of what it keeps; frozen, since it is shared by all calls with the key. */
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

/** Rules after a change. */
export function mergePermissions(permissions: PermissionTexts | undefined, change: PermissionChange): PermissionTexts {
  const entries = Object.entries({ ...permissions, ...change });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/**
 * A record from the flat fields that stores keep: what is not of the record itself is a rule of it, known or not.
 * @param flat text by field; in a key file that someone wrote, anything
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
    // Whatever else somebody wrote there: it was meant to mark the key.
    ...(development !== undefined &&
      ![false, 'false'].includes(development as string) && { development: true as const }),
    ...(Object.keys(permissions).length > 0 && { permissions }),
  };
}

/** The flat fields of a record, as stores keep them. */
export function fieldsOfKey({ permissions, createdAt, ...own }: StoredKey): Record<string, string | true> {
  return { createdAt, ...own, ...permissions };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function byAge(a: KeyRecord, b: KeyRecord): number {
  return a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id);
}
