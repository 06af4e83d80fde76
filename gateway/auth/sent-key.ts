import type { IncomingHttpHeaders } from 'node:http';
import { RpcError } from '../jsonrpc/errors.ts';
import { isWellFormedKey } from './formats/key.ts';
import { invalidToken, isToken, tokenInProtocols } from './tokens/token-form.ts';

/** Where requests may have a key or a token, beside the path. */
export interface KeyPlaces {
  /** Keys in `X-API-Key` and `Authorization: Bearer`. */
  readonly keyHeaders: boolean;
  /** Tokens in `Authorization: Bearer`, and of an upgrade in `Sec-WebSocket-Protocol`. */
  readonly tokens: boolean;
  /** Tokens in the path of an upgrade. */
  readonly tokensInPath: boolean;
}

const bearerForm = /^bearer +(\S+) *$/i;

/**
 * Whether a request has no key, token or secret, also in a place where this gateway does not read one. A request with an
 * invalid key is not a call without a key.
 * @param key from `sentKey`, or from the path
 */
export function isKeyless(key: string, headers: IncomingHttpHeaders): boolean {
  return (
    key === '' &&
    headers.authorization === undefined &&
    headers['x-api-key'] === undefined &&
    tokenInProtocols(headers['sec-websocket-protocol']) === undefined
  );
}

/**
 * The key or token of a request. Basic authentication has a secret, no key.
 * @param pathKey '' if the path has none
 * @returns '' if there is none
 * @throws RpcError key-invalid if two places have different ones; token-invalid if the path may not have a token,
 * or what stands where a token may be is none
 */
export function sentKey(pathKey: string, headers: IncomingHttpHeaders, places: KeyPlaces, isUpgrade = false): string {
  if (places.tokens && isToken(pathKey) && !(isUpgrade && places.tokensInPath)) {
    throw invalidToken('send it in Authorization: Bearer');
  }
  const { authorization = '' } = headers;
  const bearer = bearerForm.exec(authorization)?.[1];
  const offered = places.tokens && isUpgrade ? tokenInProtocols(headers['sec-websocket-protocol']) : undefined;
  const isBearerValid =
    !/^bearer(\s|$)/i.test(authorization) ||
    isToken(bearer ?? '') ||
    (places.keyHeaders && isWellFormedKey(bearer ?? ''));
  if (places.tokens && !(isBearerValid && (offered === undefined || isToken(offered)))) {
    throw invalidToken('it has not the form of a JSON Web Token');
  }
  let key = pathKey;
  for (const each of [places.keyHeaders ? headers['x-api-key'] : undefined, bearer, offered]) {
    if (each === undefined || each === key) continue;
    // It stands beside the key, and narrows it.
    if (each === tokenBeside(key, headers) && isToken(each) && isWellFormedKey(key)) continue;
    if (key !== '') throw differentKeys();
    key = String(each);
  }
  return key;
}

export function differentKeys(): RpcError {
  return new RpcError('key-invalid', 'invalid project id: path and headers have different keys');
}

/** What stands beside a key, where a token may be; undefined: nothing. @param key of the request */
export function tokenBeside(
  key: string,
  { authorization = '', 'sec-websocket-protocol': protocols }: IncomingHttpHeaders,
): string | undefined {
  const bearer = bearerForm.exec(authorization)?.[1];
  return bearer === undefined || bearer === key ? tokenInProtocols(protocols) : bearer;
}
