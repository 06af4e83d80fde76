import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * A key of ours: `gh_`, 26 random base62 characters (154 bits) and 6 characters of checksum, as GitHub's tokens are
 * made: a typo is refused without a look-up, and secret scanners can find a leaked one by its form.
 */
const prefix = 'gh_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 26;
const ownForm = /^gh_[0-9A-Za-z]{32}$/;
/** Keys of other services, such as Infura's project ids. */
const importedForm = /^[0-9A-Fa-f]{32}$/;

/** No well-formed key is longer. */
export const keyMaxLength = 35;

/** Makes a new key. It is a secret: it is shown once and never stored, only its digest is. */
export function makeKey(): string {
  const random = randomText();
  return prefix + random + checksumOf(random);
}

/** Makes a secret that a key may demand besides: `ghs_`, of the same randomness. */
export function makeSecret(): string {
  const random = randomText();
  return `ghs_${random}${checksumOf(random)}`;
}

/** randomInt is free of modulo bias. */
function randomText(): string {
  return Array.from({ length: randomLength }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

/** Whether `text` can be a key at all. Any single wrong character in one of our keys is found here. */
export function isWellFormedKey(text: string): boolean {
  if (importedForm.test(text)) return true;
  if (!ownForm.test(text)) return false;
  const checksumAt = prefix.length + randomLength;
  return checksumOf(text.slice(prefix.length, checksumAt)) === text.slice(checksumAt);
}

/**
 * SHA-256 of a key as 64 hex digits: what stores keep. A key's randomness is far beyond guessing, so it needs neither
 * salt nor a slow hash.
 */
export function digestOf(key: string): string {
  return hash('sha256', key);
}

/** The public name of a key, 12 hex digits: logs, metrics and the command line show it. Derived, never stored. */
export function keyIdOf(digest: string): string {
  return digest.slice(0, 12);
}

export function isKeyId(text: string): boolean {
  return /^[0-9a-f]{12}$/.test(text);
}

export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** CRC32 in six base62 digits (62⁶ > 2³²). */
function checksumOf(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let digit = 0; digit < 6; digit += 1) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
