import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { readEntries } from './field-formats.ts';

/** Maximum public keys of a key, as at Infura: for their rotation. */
export const MAX_TOKEN_KEYS = 3;

/** A public key, with which tokens that narrow a key are verified. */
export interface TokenKey {
  /** `kid` in the header of tokens: of another service, or it begins with the id of the key that it was registered with. */
  readonly kid: string;
  readonly name: string;
  readonly algorithm: 'RS256' | 'ES256';
  readonly publicKey: KeyObject;
}

/** What the tokens of a key are verified with. */
export interface TokenRules {
  readonly keys: readonly TokenKey[];
  /** Each request needs a token. */
  readonly isRequired: boolean;
}

/** Reads `<kid>@<name>@<SPKI in base64>`, separated by commas; '': none is left. */
export function readTokenKeys(text: string): readonly TokenKey[] | undefined {
  if (text === '') return [];
  const keys = readEntries(text, (entry) => {
    const [, kid = '', name = '', base64 = ''] = /^([0-9a-f]{32})@([\w.-]{1,40})@([\w+/]+=*)$/.exec(entry) ?? [];
    const publicKey = publicKeyOf({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
    const algorithm = publicKey && algorithmOf(publicKey);
    return algorithm && { kid, name, algorithm, publicKey };
  });
  return keys === undefined || keys.length > MAX_TOKEN_KEYS ? undefined : keys;
}

/** The form of a `kid`, which is that of Infura. */
export const kidPattern = /^[0-9a-f]{32}$/;

/** The entry of a public key in the text of `readTokenKeys`. @param id of the key @param given `kid` of another service */
export function tokenKeyEntry(
  id: string,
  name: string,
  publicKey: KeyObject,
  given?: string,
): { kid: string; entry: string } {
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const kid = given ?? id + hash('sha256', spki).slice(0, 20);
  return { kid, entry: [kid, name, spki.toString('base64')].join('@') };
}

/** The text without the public keys. */
export function displayedTokenKeys(text: string): string {
  if (text === '') return 'none';
  return text.replaceAll(/@[\w+/]+=*(?=\s*(,|$))/g, '');
}

/** @returns undefined if it is no public key @param input as of `createPublicKey` */
export function publicKeyOf(input: Parameters<typeof createPublicKey>[0]): KeyObject | undefined {
  try {
    return createPublicKey(input);
  } catch {
    return undefined;
  }
}

/** @returns undefined if tokens cannot be verified with such a key */
export function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): TokenKey['algorithm'] | undefined {
  const { modulusLength = 0, namedCurve } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'rsa' && modulusLength >= 2_048) return 'RS256';
  return asymmetricKeyType === 'ec' && namedCurve === 'prime256v1' ? 'ES256' : undefined;
}
