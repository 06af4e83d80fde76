import type { KeyObject } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { clock } from '../../clock/clock.ts';
import { timeSlicer } from '../../jsonrpc/time-slices.ts';
import { StoreError } from '../../store/store-error.ts';
import { entriesOf } from '../permissions/field-formats.ts';
import { parsePermissions, type PermissionTexts } from '../permissions/permissions.ts';
import { withPlan, type PlanSource } from '../permissions/plans.ts';
import { withNewSecret } from '../permissions/secrets.ts';
import {
  algorithmOf,
  MAX_TOKEN_KEYS,
  publicKeyOf,
  readTokenKeys,
  tokenKeyEntry,
  type TokenKey,
} from '../permissions/token-keys.ts';
import {
  listKeys,
  mergePermissions,
  type KeyRecord,
  type KeyStore,
  type AuditEntry,
  type PermissionChange,
} from '../stores/key-store.ts';
import { digestOf, keyIdOf, makeKey, makeSecret, PUBLIC_ID } from '../formats/key.ts';
import { teamIn } from '../formats/team.ts';
import { subjectDigest, tokenIdDigest } from '../tokens/revocations.ts';
import { unknownMethodWarnings } from '../unknown-names.ts';
import { KeyOperationError, noSuchKey, type FailedRevocation, type RevokedKeys } from './key-operation-error.ts';
import { keyStateOf } from './key-state.ts';

/** Concurrent revocations: each must finish within the command timeout. */
const MAX_CONCURRENT = 50;

/** Result of an operation. A new key or secret is shown only here. */
export interface CreatedKey {
  readonly id: string;
  readonly key?: string;
  readonly secret?: string;
  /** Problems that did not stop the operation. */
  readonly warnings?: readonly string[];
}

/** A registered public key. */
export interface TokenKeyAdded extends CreatedKey {
  readonly kid: string;
}

/** Runs the operations on keys, for the command line and the admin API: validates each and writes it to the audit log. */
export class KeyManager {
  readonly #store: KeyStore;
  readonly #methods: readonly string[] | undefined;
  readonly plans: PlanSource;
  /** The operator in the audit log. */
  readonly by: string;

  /**
   * @param methods names of the spec's methods, to warn of other names in permissions; undefined: no warnings
   * @param by operator in the audit log; default: the account that runs this process
   */
  constructor(store: KeyStore, plans: PlanSource, methods?: readonly string[], by = currentUser()) {
    this.#store = store;
    this.#methods = methods;
    this.by = by;
    this.plans = plans;
  }

  /**
   * @param options.given a key of another service; default: a new key
   * @param options.secret a secret of another service; true: a new secret
   * @throws KeyOperationError if the key already exists; InvalidPermissionsError
   */
  async create(
    name: string,
    permissions: PermissionTexts,
    options: { given?: string | undefined; secret?: string | boolean | undefined } = {},
  ): Promise<CreatedKey> {
    const { given, secret: wanted = false } = options;
    const secret = wanted === true ? makeSecret() : wanted === false ? undefined : wanted;
    const all = { ...permissions, ...(secret !== undefined && { secrets: digestOf(secret) }) };
    parsePermissions(withPlan(all, this.plans));
    const key = given ?? makeKey();
    const digest = digestOf(key);
    const id = keyIdOf(digest);
    if (
      !(await this.#store.add(digest, { name, createdAt: new Date(clock.unixMs()).toISOString(), permissions: all }))
    ) {
      throw new KeyOperationError('already-exists', 'This key already exists', `gatehouse keys show ${id}`);
    }
    // The operator already has the key and secret of another service: they are not shown.
    const created = {
      id,
      ...(given === undefined && { key }),
      ...(wanted === true && secret !== undefined && { secret }),
    };
    return this.#audited(created, 'create', id, Object.keys(all).join(' '), this.#warningsFor(id, all));
  }

  /**
   * @param secret true: a new secret replaces all others; false: no secret is required any more
   * @throws KeyOperationError if the key does not exist; InvalidPermissionsError if the result would be invalid
   */
  async update(id: string, change: PermissionChange, secret?: boolean): Promise<CreatedKey> {
    const created = secret === true ? makeSecret() : undefined;
    const all = { ...change, ...(secret !== undefined && { secrets: created && digestOf(created) }) };
    const after = await this.#write(id, () => all);
    const shown = { id, ...(created !== undefined && { secret: created }) };
    return this.#audited(shown, 'update', id, Object.keys(all).join(' '), this.#warningsFor(id, all, after));
  }

  /** @throws KeyOperationError if the key does not exist */
  async rename(id: string, name: string): Promise<CreatedKey> {
    if ((await this.#store.rename(id, name)) === undefined) throw noSuchKey(id);
    return this.#audited({ id }, 'update', id, 'name');
  }

  /**
   * Registers a public key, for tokens that narrow the key.
   * @param pem text of its file
   * @param given `kid` of tokens at another service; default: a new one
   * @returns what `kid` of the tokens must be
   * @throws KeyOperationError if it is no such key, or the fourth one
   */
  async addTokenKey(id: string, pem: string, name: string, given?: string): Promise<TokenKeyAdded> {
    const publicKey = readPublicKey(pem);
    const { kid, entry } = tokenKeyEntry(id, name, publicKey, given);
    await this.#write(id, (permissions) => {
      const before = tokenKeysIn(permissions);
      const same = before.find((one) => one.kid === kid);
      if (same?.publicKey.equals(publicKey) === true)
        throw new KeyOperationError(
          'already-exists',
          `This public key is registered already, as ${kid}`,
          'nothing to do',
        );
      if (same !== undefined)
        throw new KeyOperationError(
          'already-exists',
          `Another public key has the kid ${kid}`,
          'remove it first, with keys tokens remove',
        );
      if (before.length >= MAX_TOKEN_KEYS)
        throw new KeyOperationError('already-exists', `The key ${id} has three public keys`, 'remove one of them');
      return { tokenKeys: before.length === 0 ? entry : `${permissions['tokenKeys'] ?? ''},${entry}` };
    });
    return this.#audited({ id, kid }, 'update', id, 'tokenKeys');
  }

  /**
   * Removes a public key, also from the keys that replaced this one by rotation and that it replaced: they have a copy. A key
   * without public keys still rejects tokens, if it had some: with a removed one, a token must not get the whole key.
   * @throws KeyOperationError if there is none with this `kid`
   */
  async removeTokenKey(id: string, kid: string): Promise<CreatedKey> {
    const hasKid = ({ permissions = {} }: KeyRecord): boolean =>
      tokenKeysIn(permissions).some((one) => one.kid === kid);
    const found = (await this.#rotatedWith(id)).filter(hasKid);
    if (found.length === 0)
      throw new KeyOperationError('missing', `The key ${id} has no public key with this kid`, 'see keys tokens list');
    const warnings: string[] = [];
    let removed: CreatedKey = { id };
    for (const record of found) {
      const after = await this.#write(record.id, ({ tokenKeys = '' }) => {
        const others = entriesOf(tokenKeys).filter((entry) => !entry.startsWith(`${kid}@`));
        return { tokenKeys: others.join(',') };
      });
      warnings.push(...this.#warningsFor(record.id, {}, after));
      removed = await this.#audited({ id }, 'update', record.id, 'tokenKeys', warnings);
    }
    return removed;
  }

  /** Makes a key with the same permissions and limits; the old key expires after `graceMs`. */
  async rotate(id: string, graceMs: number): Promise<CreatedKey> {
    const record = await this.show(id);
    const { name, permissions } = record;
    // A plan that is not known here is an error of its own: the key may be active in the gateways.
    withPlan(permissions ?? {}, this.plans);
    if (!['active', 'development'].includes(keyStateOf(record, this.plans)))
      throw new KeyOperationError('inactive', `The key ${id} is not active`, 'create a new key');
    const key = makeKey();
    const digest = digestOf(key);
    // Both keys share one account, so that rotating a key does not double its limits.
    const account = permissions?.['account'] ?? id;
    await this.#store.add(digest, {
      name,
      createdAt: new Date(clock.unixMs()).toISOString(),
      permissions: { ...permissions, account },
    });
    const warnings: string[] = [];
    await this.#store.update(id, { expiresAt: earlierEnd(permissions?.['expiresAt'], graceMs) }).catch(() => {
      warnings.push(`the new key is created, but the expiry of the old key is not set: revoke ${id} when it is unused`);
    });
    return this.#audited({ id: keyIdOf(digest), key }, 'rotate', id, keyIdOf(digest), warnings);
  }

  /** Makes a new secret; the current secrets expire after `graceMs`. */
  async rotateSecret(id: string, graceMs: number): Promise<CreatedKey> {
    const record = await this.show(id);
    const previous = record.permissions?.['secrets'];
    if (previous === undefined) {
      throw new KeyOperationError('no-secret', `The key ${id} requires no secret`, `keys update ${id} --secret`);
    }
    const secret = makeSecret();
    const secrets = withNewSecret(previous, digestOf(secret), (expiresAt) => earlierEnd(expiresAt, graceMs));
    await this.#write(id, () => ({ secrets }));
    return this.#audited({ id, secret }, 'rotate', id, 'secret');
  }

  async revoke(id: string): Promise<KeyRecord> {
    return this.#revoked(id, await this.#store.revoke(id));
  }

  /** Revokes keys, each once. A failure does not stop the others. */
  async revokeAll(ids: readonly string[]): Promise<RevokedKeys> {
    const wanted = [...new Set(ids)];
    const revoke = await this.#store.revoker(wanted);
    const outcomes: PromiseSettledResult<KeyRecord>[] = [];
    for (let from = 0; from < wanted.length; from += MAX_CONCURRENT) {
      await timeSlicer.next();
      const some = wanted.slice(from, from + MAX_CONCURRENT);
      outcomes.push(...(await Promise.allSettled(some.map(async (id) => this.#revoked(id, await revoke(id))))));
    }
    const [revoked, failed]: [KeyRecord[], FailedRevocation[]] = [[], []];
    for (const [index, outcome] of outcomes.entries())
      if (outcome.status === 'fulfilled') revoked.push(outcome.value);
      else if (outcome.reason instanceof StoreError) failed.push({ id: wanted[index] ?? '', error: outcome.reason });
      else throw outcome.reason;
    return { revoked, failed };
  }

  async #revoked(id: string, record: KeyRecord | undefined): Promise<KeyRecord> {
    if (record === undefined) throw noSuchKey(id);
    await this.audit('revoke', id);
    return record;
  }

  /** Revokes all tokens of a subject, also later ones, or one token. The record has neither in clear. */
  async revokeTokens(issuer: string, which: RevokedTokens): Promise<KeyRecord> {
    const { digest, name } = revocationOf(issuer, which);
    const now = new Date(clock.unixMs()).toISOString();
    await this.#store.add(digest, { name, createdAt: now, revokedAt: now });
    await this.audit('revoke', keyIdOf(digest), name);
    return this.show(keyIdOf(digest));
  }

  /** Removes the record of `revokeTokens`. @returns its id @throws KeyOperationError if there is none */
  async allowTokens(issuer: string, which: RevokedTokens): Promise<string> {
    const { digest, name } = revocationOf(issuer, which);
    if (!(await this.#store.remove(digest))) {
      throw new KeyOperationError(
        'missing',
        'There is no such revocation',
        'is the issuer in auth.yaml the one of the revocation?',
      );
    }
    await this.audit('update', keyIdOf(digest), `${name} is not revoked any more`);
    return keyIdOf(digest);
  }

  auditDrain(act: 'drain' | 'undrain', network: string, upstream: string): Promise<void> {
    return this.audit(act, '-', `${network} ${upstream}`);
  }

  /** @throws KeyOperationError if the key does not exist */
  async show(id: string): Promise<KeyRecord> {
    const record = await this.#store.show(id);
    if (record === undefined) throw noSuchKey(id);
    return record;
  }

  /**
   * Ids of keys whose usage is summed.
   * @param account the id of a key, `team:<name>`, or `public` for calls without a key
   * @param withRotated also the keys that the key replaced, and those that replaced it
   * @throws KeyOperationError if there is no such key, or no key of the team
   */
  async idsOf(account: string, withRotated = false): Promise<string[]> {
    const team = teamIn(account);
    if (account === PUBLIC_ID) return [account];
    if (team === undefined) {
      const records = withRotated ? await this.#rotatedWith(account) : [await this.show(account)];
      return records.map(({ id }) => id);
    }
    const own = (await this.list()).filter(({ permissions }) => permissions?.['team'] === team);
    if (own.length === 0)
      throw new KeyOperationError('missing', 'There is no key of this team', 'see gatehouse keys show');
    return own.map(({ id }) => id);
  }

  /** All keys, revoked ones too, oldest first. */
  list(): Promise<KeyRecord[]> {
    return listKeys(this.#store);
  }

  /** The key with those that replaced it by rotation, and those that it replaced. @throws KeyOperationError */
  async #rotatedWith(id: string): Promise<KeyRecord[]> {
    const first = firstOf(await this.show(id));
    return (await this.list()).filter((other) => firstOf(other) === first);
  }

  /**
   * @returns the permissions after the change
   * @throws KeyOperationError if the key does not exist; InvalidPermissionsError; the error of `changeOf` (rejects with it)
   */
  async #write(
    id: string,
    changeOf: (permissions: PermissionTexts) => PermissionChange,
  ): Promise<PermissionTexts | undefined> {
    const updated = await this.#store.update(id, (permissions) => {
      const change = changeOf(permissions);
      parsePermissions(withPlan(mergePermissions(permissions, change), this.plans));
      return change;
    });
    if (updated === undefined) throw noSuchKey(id);
    return updated.permissions;
  }

  #warningsFor(id: string, change: PermissionChange, after = mergePermissions({}, change)): string[] {
    const permissions = mergePermissions({}, change);
    const end = permissions['expiresAt'];
    const isClosed = after['requireToken'] === 'on' && tokenKeysIn(after).length === 0;
    return [
      ...(isClosed ? [`each request is rejected until the key ${id} has a public key: gatehouse keys tokens add`] : []),
      ...(end !== undefined && Date.parse(end) <= clock.unixMs() ? [`the key has expired: expiresAt is ${end}`] : []),
      ...(this.#methods === undefined ? [] : unknownMethodWarnings(permissions, this.#methods)),
    ];
  }

  /** Returns the result even if the audit entry cannot be written: a new key or secret is shown only once. */
  async #audited<Created extends CreatedKey>(
    created: Created,
    act: AuditEntry['act'],
    id: string,
    detail: string,
    warnings: string[] = [],
  ): Promise<Created> {
    await this.audit(act, id, detail).catch(() => {
      warnings.push('the operation succeeded, but its audit entry could not be written');
    });
    return warnings.length === 0 ? created : { ...created, warnings };
  }

  /** @param key its id; `-` for an operation without a key */
  async audit(act: AuditEntry['act'], key: string, detail = ''): Promise<void> {
    const at = new Date(clock.unixMs()).toISOString();
    await this.#store.audit({ at, by: this.by, act, key, ...(detail !== '' && { detail }) });
  }
}

/** @throws KeyOperationError, which does not quote the text */
function readPublicKey(pem: string): KeyObject {
  const reject = (sentence: string, advice: string): never => {
    throw new KeyOperationError('invalid', sentence, advice);
  };
  if (pem.includes('PRIVATE KEY'))
    return reject('This is a private key: register its public key', 'openssl pkey -in key.pem -pubout -out public.pem');
  const key = publicKeyOf(pem) ?? reject('This is no public key', 'expected a PEM file with BEGIN PUBLIC KEY');
  if (algorithmOf(key) !== undefined) return key;
  return reject('Tokens cannot be signed with this key', 'expected RSA of at least 2048 bits, or EC on P-256');
}

function tokenKeysIn(permissions: PermissionTexts): readonly TokenKey[] {
  return readTokenKeys(permissions['tokenKeys'] ?? '') ?? [];
}

/** The tokens of a subject, or one token by its `jti`. */
export type RevokedTokens = { readonly subject: string } | { readonly tokenId: string };

function revocationOf(issuer: string, which: RevokedTokens): { digest: string; name: string } {
  return 'subject' in which
    ? { digest: subjectDigest(issuer, which.subject), name: 'token subject' }
    : { digest: tokenIdDigest(issuer, which.tokenId), name: 'token id' };
}

/** The id of the key from which a key descends by rotation, which may be its own. */
function firstOf({ id, permissions }: KeyRecord): string {
  return permissions?.['account'] ?? id;
}

/** The end of the grace period, or the existing end if it is earlier. */
function earlierEnd(end: string | undefined, graceMs: number): string {
  const grace = new Date(clock.unixMs() + graceMs).toISOString();
  return end !== undefined && Date.parse(end) < Date.parse(grace) ? end : grace;
}

/** @returns the trimmed name; undefined unless it has 1 to 64 printable characters */
export function readName(text: string): string | undefined {
  const name = text.trim();
  return /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(name) ? name : undefined;
}

function currentUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // The uid may have no account, in a container for example.
    return `${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
