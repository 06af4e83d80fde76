import { hash, timingSafeEqual } from 'node:crypto';
import { clock } from '../../clock/clock.ts';
import { isDigest, keyIdOf } from '../formats/key.ts';
import type { Caller } from './entry-permissions.ts';
import { entriesOf, readEntries, readTime } from './field-formats.ts';

export interface Secret {
  /** SHA-256 of the secret. */
  readonly digest: Buffer;
  /** Expiry in ms since 1970; Infinity: no expiry. */
  readonly deadline: number;
}

/** Reads `<sha256>` or `<sha256>@<time>`, separated by commas. */
export function readSecrets(text: string): readonly Secret[] | undefined {
  return readEntries(text, (entry) => {
    const [digest, expiresAt] = partsOf(entry);
    const deadline = expiresAt === undefined ? Number.POSITIVE_INFINITY : readTime(expiresAt);
    return isDigest(digest) && deadline !== undefined ? { digest: Buffer.from(digest, 'hex'), deadline } : undefined;
  });
}

/** Returns a check that a request has one of the secrets. */
export function secretCheck(secrets: readonly Secret[]): (caller: Caller) => boolean {
  return ({ headers: { authorization } }) => {
    const given = passwordIn(authorization);
    if (given === undefined) return false;
    const digest = hash('sha256', given, 'buffer');
    const now = clock.unixMs();
    return secrets.some((secret) => timingSafeEqual(secret.digest, digest) && now < secret.deadline);
  };
}

/** Shortens digests to 12 digits, like key ids. An operator may have written the secret itself: only digests are shown. */
export function displayedSecrets(text: string): string {
  return editSecrets(text, (digest, expiresAt) => {
    const id = isDigest(digest) ? keyIdOf(digest) : digest === '' ? '' : '?';
    return [expiresAt === undefined ? id : `${id}@${expiresAt}`];
  });
}

/** The text with a new secret. Those before it expire at the time that `endOf` returns; expired ones are removed. */
export function withNewSecret(text: string, newDigest: string, endOf: (expiresAt?: string) => string): string {
  const now = clock.unixMs();
  const expiring = editSecrets(text, (digest, expiresAt) => {
    const hasEnded = expiresAt !== undefined && Date.parse(expiresAt) <= now;
    return hasEnded ? [] : [`${digest}@${endOf(expiresAt)}`];
  });
  return expiring === '' ? newDigest : `${newDigest},${expiring}`;
}

function editSecrets(text: string, edit: (digest: string, expiresAt: string | undefined) => string[]): string {
  return entriesOf(text)
    .flatMap((entry) => edit(...partsOf(entry)))
    .join(',');
}

function partsOf(entry: string): [digest: string, expiresAt: string | undefined] {
  const [digest = '', expiresAt] = entry.split(/@(.*)/s);
  return [digest, expiresAt];
}

/** Reads the password of Basic authentication with an empty user name, as Infura does. */
export function passwordIn(authorization = ''): string | undefined {
  const [, base64] = /^basic +([a-z0-9+/_-]+=*)$/i.exec(authorization) ?? [];
  const text = base64 === undefined ? '' : Buffer.from(base64, 'base64').toString();
  return text.startsWith(':') ? text.slice(1) : undefined;
}
