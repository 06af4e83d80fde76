import { hostname, userInfo } from 'node:os';
import { compileAccess } from '../key-access.ts';
import { InvalidPermissionsError, parsePermissions, type PermissionTexts } from '../permissions/permissions.ts';
import {
  mergePermissions,
  KeyStoreError,
  type KeyRecord,
  type KeyStore,
  type AuditEntry,
  type PermissionChange,
} from '../stores/key-store.ts';
import { digestOf, keyIdOf, makeKey, makeSecret } from '../formats/key.ts';
import { unknownMethodWarnings } from '../unknown-methods.ts';

/** What was made; key and secret are shown once and never again. */
export interface CreatedKey {
  readonly id: string;
  readonly key?: string;
  readonly secret?: string;
  /** What was done all the same, and should be looked at. */
  readonly warnings?: readonly string[];
}

/** Why an act cannot be done. The message ends with what to do about it at the command line. */
export class KeyOperationError extends KeyStoreError {
  readonly kind: 'missing' | 'already-exists' | 'inactive' | 'no-secret' | 'no-redis';
  /** The message without that. */
  readonly sentence: string;

  constructor(kind: KeyOperationError['kind'], sentence: string, advice: string) {
    super(`${sentence}: ${advice}`);
    this.kind = kind;
    this.sentence = sentence;
  }
}

/** Every act of management, checked before and noted after, whoever asks for it: the command line or the admin API. */
export class KeyManager {
  readonly #store: KeyStore;
  readonly #by: string;
  readonly #methods: readonly string[] | undefined;

  /**
   * @param methods names of the spec's methods, to warn of others in rules; undefined: of none
   * @param by who acts; default: the account that runs this process
   */
  constructor(store: KeyStore, methods?: readonly string[], by = currentUser()) {
    this.#store = store;
    this.#methods = methods;
    this.#by = by;
  }

  /**
   * @param given a key of another service; default: a new one is made
   * @throws KeyActError where the key is there already, KeyRulesError
   */
  async create(
    name: string,
    permissions: PermissionTexts,
    options: { given?: string; withSecret?: boolean } = {},
  ): Promise<CreatedKey> {
    const secret = options.withSecret === true ? makeSecret() : undefined;
    const all = { ...permissions, ...(secret !== undefined && { secrets: digestOf(secret) }) };
    parsePermissions(all);
    const key = options.given ?? makeKey();
    const digest = digestOf(key);
    const id = keyIdOf(digest);
    if (!(await this.#store.add(digest, { name, createdAt: new Date().toISOString(), permissions: all }))) {
      throw new KeyOperationError('already-exists', 'This key is there already', `gatehouse keys show ${id}`);
    }
    // A key that came from elsewhere is known there: it is not shown again.
    const created = { id, ...(options.given === undefined && { key }), ...(secret !== undefined && { secret }) };
    return this.#audited(created, 'create', id, Object.keys(all).join(' '), this.#warningsFor(all));
  }

  /**
   * @param secret true: a new one takes the place of all others; false: none is demanded any more
   * @throws KeyActError where there is no such key, KeyRulesError where it would be refused afterwards
   */
  async update(id: string, change: PermissionChange, secret?: boolean): Promise<CreatedKey> {
    const record = await this.#existing(id);
    const created = secret === true ? makeSecret() : undefined;
    const all = { ...change, ...(secret !== undefined && { secrets: created && digestOf(created) }) };
    await this.#write(record, all);
    const shown = { id, ...(created !== undefined && { secret: created }) };
    return this.#audited(shown, 'update', id, Object.keys(all).join(' '), this.#warningsFor(mergePermissions({}, all)));
  }

  /** Makes a key with the same rules and limits; the old one ends after `graceMs`. */
  async rotate(id: string, graceMs: number): Promise<CreatedKey> {
    const record = await this.#existing(id);
    const { name, permissions } = record;
    if (!isActive(record))
      throw new KeyOperationError('inactive', `The key ${id} opens nothing any more`, 'make a new one');
    const key = makeKey();
    const digest = digestOf(key);
    // Both draw on one account: to rotate a key gives nobody twice its limits.
    const account = permissions?.['account'] ?? id;
    await this.#store.add(digest, {
      name,
      createdAt: new Date().toISOString(),
      permissions: { ...permissions, account },
    });
    const warnings: string[] = [];
    await this.#store.update(id, { expiresAt: earlier(permissions?.['expiresAt'], graceMs) }).catch(() => {
      warnings.push(
        `the new key is made, but the old one goes on without an end: revoke ${id} when it is not used any more`,
      );
    });
    return this.#audited({ id: keyIdOf(digest), key }, 'rotate', id, keyIdOf(digest), warnings);
  }

  /** Makes a new secret; those that are live end after `graceMs`. */
  async rotateSecret(id: string, graceMs: number): Promise<CreatedKey> {
    const record = await this.#existing(id);
    const previous = record.permissions?.['secrets'];
    if (previous === undefined) {
      throw new KeyOperationError('no-secret', `The key ${id} demands no secret`, `keys update ${id} --secret`);
    }
    const secret = makeSecret();
    const now = Date.now();
    const expiring = previous.split(',').flatMap((entry) => {
      const [digest = '', until] = entry.trim().split(/@(.*)/s);
      return until !== undefined && Date.parse(until) <= now ? [] : [`${digest}@${earlier(until, graceMs)}`];
    });
    await this.#write(record, { secrets: [digestOf(secret), ...expiring].join(',') });
    return this.#audited({ id, secret }, 'rotate', id, 'secret');
  }

  async revoke(id: string): Promise<KeyRecord> {
    const revoked = await this.#store.revoke(id);
    if (revoked === undefined) throw noSuchKey(id);
    await this.#audit('revoke', id);
    return revoked;
  }

  auditImport(id: string): Promise<void> {
    return this.#audit('import', id);
  }

  /** @throws KeyActError where there is no such key */
  show(id: string): Promise<KeyRecord> {
    return this.#existing(id);
  }

  /** All keys, revoked ones too, oldest first. */
  list(): Promise<KeyRecord[]> {
    return this.#store.list();
  }

  async #existing(id: string): Promise<KeyRecord> {
    const record = await this.#store.show(id);
    if (record === undefined) throw noSuchKey(id);
    return record;
  }

  async #write({ id, permissions }: KeyRecord, change: PermissionChange): Promise<void> {
    parsePermissions(mergePermissions(permissions, change));
    if ((await this.#store.update(id, change)) === undefined) throw noSuchKey(id);
  }

  #warningsFor(permissions: PermissionTexts): string[] {
    return this.#methods === undefined ? [] : unknownMethodWarnings(permissions, this.#methods);
  }

  /** What was made is shown only once: a store that is lost between the act and its line in the audit must not hide it. */
  async #audited(
    created: CreatedKey,
    act: AuditEntry['act'],
    id: string,
    detail: string,
    warnings: string[] = [],
  ): Promise<CreatedKey> {
    await this.#audit(act, id, detail).catch(() => {
      warnings.push('this is done, but the audit could not be written');
    });
    return warnings.length === 0 ? created : { ...created, warnings };
  }

  async #audit(act: AuditEntry['act'], key: string, detail = ''): Promise<void> {
    const at = new Date().toISOString();
    await this.#store.audit({ at, by: this.#by, act, key, ...(detail !== '' && { detail }) });
  }
}

/** Whether a key opens anything; a record with mistakes does not. */
export function isActive(record: KeyRecord): boolean {
  return record.revokedAt === undefined && !hasExpired(record) && problemsIn(record).length === 0;
}

export function hasExpired({ permissions }: KeyRecord): boolean {
  return Date.parse(permissions?.['expiresAt'] ?? '') <= Date.now();
}

/** Why the key is refused, in so far as its record is to blame. */
export function problemsIn(record: KeyRecord): readonly string[] {
  try {
    compileAccess(record);
    return [];
  } catch (error) {
    if (error instanceof InvalidPermissionsError) return error.problems;
    throw error;
  }
}

/** The end of a time of grace, or an end that was set before and comes first. */
function earlier(end: string | undefined, graceMs: number): string {
  const grace = new Date(Date.now() + graceMs).toISOString();
  return end !== undefined && Date.parse(end) < Date.parse(grace) ? end : grace;
}

/** @returns the name as it is kept, or undefined where it is none: 1 to 64 printable characters */
export function readName(text: string): string | undefined {
  const name = text.trim();
  return /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(name) ? name : undefined;
}

function noSuchKey(id: string): KeyOperationError {
  return new KeyOperationError('missing', `There is no key with the id ${id}`, 'see gatehouse keys list');
}

function currentUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // In a container, for a number that no account has.
    return `${process.getuid?.() ?? 'somebody'}@${hostname()}`;
  }
}
