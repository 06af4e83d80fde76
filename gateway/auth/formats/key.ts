import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A Gatehouse key: `gh_`, 26 random base62 characters (154 bits) and 6 checksum characters, like GitHub's tokens. A typo
 * is rejected without a lookup, and secret scanners recognise a leaked key by its form.
 */
const PREFIX = 'gh_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 26;
const gatehouseForm = /^gh_[0-9A-Za-z]{32}$/;
/** Keys of other services, such as Infura's project ids. */
const importedForm = /^[0-9A-Fa-f]{32}$/;

/** Length of the longest well-formed key. */
export const KEY_MAX_LENGTH = 35;

/** Makes a new key. It is a secret: it is shown once, and only its digest is stored. */
export function makeKey(): string {
  const random = randomText();
  return PREFIX + random + checksumOf(random);
}

/** Makes a key secret: `ghs_` and the same 154 random bits. */
export function makeSecret(): string {
  const random = randomText();
  return `ghs_${random}${checksumOf(random)}`;
}

/** Uses randomInt because it has no modulo bias. */
function randomText(): string {
  return Array.from({ length: RANDOM_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** Whether `text` can be a key. The checksum detects any single wrong character in a Gatehouse key. */
export function isWellFormedKey(text: string): boolean {
  if (importedForm.test(text)) return true;
  if (!gatehouseForm.test(text)) return false;
  const checksumAt = PREFIX.length + RANDOM_LENGTH;
  return checksumOf(text.slice(PREFIX.length, checksumAt)) === text.slice(checksumAt);
}

/**
 * SHA-256 of a key as 64 hex digits: the only form that stores have. A key has 154 random bits, so it needs neither a
 * salt nor a slow hash.
 */
export function digestOf(key: string): string {
  return hash('sha256', key);
}

/** The public id of a key, 12 hex digits, shown in logs, metrics and the command line. Derived, never stored. */
export function keyIdOf(digest: string): string {
  return digest.slice(0, 12);
}

export function isKeyId(text: string): boolean {
  return /^[0-9a-f]{12}$/.test(text);
}

/** Name of all callers without a key, which are one in usage, metrics and logs. It is no id of a key. */
export const PUBLIC_ID = 'public';

export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** CRC32 in six base62 digits (62⁶ > 2³²). */
function checksumOf(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let digit = 0; digit < 6; digit += 1) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
