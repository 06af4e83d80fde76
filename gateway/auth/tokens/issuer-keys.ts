import { readFileSync, statSync } from 'node:fs';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import { errorCode, type Log } from '../../config/log.ts';
import { SettingsError } from '../../config/settings.ts';

/** Keys are fetched again after this time, when a token is verified. */
const REFRESH_MS = 300_000;
/** An unknown `kid` causes one request in this time: anybody can send one. */
const COOLDOWN_MS = 10_000;
const FETCH_TIMEOUT_MS = 5_000;
const MAX_BYTES = 1_000_000;

/** Finds the issuer's public key for the header of a token. Rejects with an error of jose if there is none. */
export type IssuerKeys = JWTVerifyGetKey;

/** Keys at a URL: cached, refreshed in the background, and at once for an unknown `kid`. @param staleMaxS while the URL fails */
export function keysAtUrl(url: URL, staleMaxS: number, log: Log): IssuerKeys {
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: staleMaxS * 1_000,
    [customFetch]: boundedFetch,
  });
  let refreshedAt = Date.now();
  const refresh = async (): Promise<void> => {
    try {
      await keys.reload();
    } catch (error) {
      log.warn({ error: errorCode(error) }, 'the keys of the token issuer cannot be fetched');
    }
  };
  return async (header, token) => {
    if (Date.now() - refreshedAt > REFRESH_MS && keys.jwks() !== undefined) {
      refreshedAt = Date.now();
      void refresh();
    }
    return keys(header, token);
  };
}

/** Does not follow redirects: the keys decide who may call. */
const boundedFetch: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > MAX_BYTES) throw new errors.JOSEError('the key set is too large');
    chunks.push(chunk as Uint8Array);
  }
  return new Response(Buffer.concat(chunks), { status: response.status });
};

/** Keys in a file, read again when it changes. @throws SettingsError if it cannot be read at the start */
export function keysInFile(file: string, log: Log): IssuerKeys {
  let keys: JWTVerifyGetKey;
  let modifiedAt: number;
  const read = (): void => {
    modifiedAt = statSync(file).mtimeMs;
    keys = createLocalJWKSet(JSON.parse(readFileSync(file, 'utf8')) as JSONWebKeySet);
  };
  try {
    read();
  } catch (error) {
    throw new SettingsError([`AUTH_JWKS_FILE: the file has no key set (${errorCode(error)})`]);
  }
  return (header, token) => {
    try {
      if (statSync(file).mtimeMs !== modifiedAt) read();
    } catch (error) {
      log.warn({ error: errorCode(error) }, 'AUTH_JWKS_FILE cannot be read: the keys before are used');
    }
    return keys(header, token);
  };
}
