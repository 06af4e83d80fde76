import { hostname, userInfo } from 'node:os';
import { compileAccess } from './key-access.ts';
import { KeyRulesError, readRules, type RuleTexts } from './key-rules.ts';
import {
  changedRules,
  KeyStoreError,
  type KeyRecord,
  type KeyStore,
  type ManagementAct,
  type RuleChange,
} from './key-store.ts';
import { digestOf, keyIdOf, makeKey, makeSecret } from './key.ts';
import { unknownMethods } from './unknown-methods.ts';

/** What was made; key and secret are shown once and never again. */
export interface Made {
  readonly id: string;
  readonly key?: string;
  readonly secret?: string;
  /** What was done all the same, and should be looked at. */
  readonly warnings?: readonly string[];
}

/** Why an act cannot be done. The message ends with what to do about it at the command line. */
export class KeyActError extends KeyStoreError {
  readonly kind: 'missing' | 'there-already' | 'ended' | 'no-secret' | 'no-redis';
  /** The message without that. */
  readonly sentence: string;

  constructor(kind: KeyActError['kind'], sentence: string, advice: string) {
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
  constructor(store: KeyStore, methods?: readonly string[], by = accountHere()) {
    this.#store = store;
    this.#methods = methods;
    this.#by = by;
  }

  /**
   * @param given a key of another service; default: a new one is made
   * @throws KeyActError where the key is there already, KeyRulesError
   */
  async create(name: string, rules: RuleTexts, options: { given?: string; withSecret?: boolean } = {}): Promise<Made> {
    const secret = options.withSecret === true ? makeSecret() : undefined;
    const all = { ...rules, ...(secret !== undefined && { secrets: digestOf(secret) }) };
    readRules(all);
    const key = options.given ?? makeKey();
    const digest = digestOf(key);
    const id = keyIdOf(digest);
    if (!(await this.#store.add(digest, { name, createdAt: new Date().toISOString(), rules: all }))) {
      throw new KeyActError('there-already', 'This key is there already', `gatehouse keys show ${id}`);
    }
    // A key that came from elsewhere is known there: it is not shown again.
    const made = { id, ...(options.given === undefined && { key }), ...(secret !== undefined && { secret }) };
    return this.#noted(made, 'create', id, Object.keys(all).join(' '), this.#doubts(all));
  }

  /**
   * @param secret true: a new one takes the place of all others; false: none is demanded any more
   * @throws KeyActError where there is no such key, KeyRulesError where it would be refused afterwards
   */
  async update(id: string, change: RuleChange, secret?: boolean): Promise<Made> {
    const record = await this.#existing(id);
    const made = secret === true ? makeSecret() : undefined;
    const all = { ...change, ...(secret !== undefined && { secrets: made && digestOf(made) }) };
    await this.#write(record, all);
    const shown = { id, ...(made !== undefined && { secret: made }) };
    return this.#noted(shown, 'update', id, Object.keys(all).join(' '), this.#doubts(changedRules({}, all)));
  }

  /** Makes a key with the same rules and limits; the old one ends after `graceMs`. */
  async rotate(id: string, graceMs: number): Promise<Made> {
    const record = await this.#existing(id);
    const { name, rules } = record;
    if (!isLive(record)) throw new KeyActError('ended', `The key ${id} opens nothing any more`, 'make a new one');
    const key = makeKey();
    const digest = digestOf(key);
    // Both draw on one account: to rotate a key gives nobody twice its limits.
    const account = rules?.['account'] ?? id;
    await this.#store.add(digest, { name, createdAt: new Date().toISOString(), rules: { ...rules, account } });
    const warnings: string[] = [];
    await this.#store.update(id, { expiresAt: earlier(rules?.['expiresAt'], graceMs) }).catch(() => {
      warnings.push(
        `the new key is made, but the old one goes on without an end: revoke ${id} when it is not used any more`,
      );
    });
    return this.#noted({ id: keyIdOf(digest), key }, 'rotate', id, keyIdOf(digest), warnings);
  }

  /** Makes a new secret; those that are live end after `graceMs`. */
  async rotateSecret(id: string, graceMs: number): Promise<Made> {
    const record = await this.#existing(id);
    const before = record.rules?.['secrets'];
    if (before === undefined) {
      throw new KeyActError('no-secret', `The key ${id} demands no secret`, `keys update ${id} --secret`);
    }
    const secret = makeSecret();
    const now = Date.now();
    const ending = before.split(',').flatMap((entry) => {
      const [digest = '', until] = entry.trim().split(/@(.*)/s);
      return until !== undefined && Date.parse(until) <= now ? [] : [`${digest}@${earlier(until, graceMs)}`];
    });
    await this.#write(record, { secrets: [digestOf(secret), ...ending].join(',') });
    return this.#noted({ id, secret }, 'rotate', id, 'secret');
  }

  async revoke(id: string): Promise<KeyRecord> {
    const revoked = await this.#store.revoke(id);
    if (revoked === undefined) throw noSuchKey(id);
    await this.#note('revoke', id);
    return revoked;
  }

  noteImport(id: string): Promise<void> {
    return this.#note('import', id);
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

  async #write({ id, rules }: KeyRecord, change: RuleChange): Promise<void> {
    readRules(changedRules(rules, change));
    if ((await this.#store.update(id, change)) === undefined) throw noSuchKey(id);
  }

  #doubts(rules: RuleTexts): string[] {
    return this.#methods === undefined ? [] : unknownMethods(rules, this.#methods);
  }

  /** What was made is shown only once: a store that is lost between the act and its line in the audit must not hide it. */
  async #noted(
    made: Made,
    act: ManagementAct['act'],
    id: string,
    detail: string,
    warnings: string[] = [],
  ): Promise<Made> {
    await this.#note(act, id, detail).catch(() => {
      warnings.push('this is done, but the audit could not be written');
    });
    return warnings.length === 0 ? made : { ...made, warnings };
  }

  async #note(act: ManagementAct['act'], key: string, detail = ''): Promise<void> {
    const at = new Date().toISOString();
    await this.#store.note({ at, by: this.#by, act, key, ...(detail !== '' && { detail }) });
  }
}

/** Whether a key opens anything; a record with mistakes does not. */
export function isLive(record: KeyRecord): boolean {
  return record.revokedAt === undefined && !hasEnded(record) && mistakesIn(record).length === 0;
}

export function hasEnded({ rules }: KeyRecord): boolean {
  return Date.parse(rules?.['expiresAt'] ?? '') <= Date.now();
}

/** Why the key is refused, in so far as its record is to blame. */
export function mistakesIn(record: KeyRecord): readonly string[] {
  try {
    compileAccess(record);
    return [];
  } catch (error) {
    if (error instanceof KeyRulesError) return error.mistakes;
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

function noSuchKey(id: string): KeyActError {
  return new KeyActError('missing', `There is no key with the id ${id}`, 'see gatehouse keys list');
}

function accountHere(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // In a container, for a number that no account has.
    return `${process.getuid?.() ?? 'somebody'}@${hostname()}`;
  }
}
