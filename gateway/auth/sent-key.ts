import type { IncomingHttpHeaders } from 'node:http';
import { RpcError } from '../jsonrpc/errors.ts';

/**
 * The key of a request: in its path, in `X-API-Key` or in `Authorization: Bearer`. Basic authentication has a secret, no key.
 * @param pathKey '' if the path has none
 * @returns '' if there is none
 * @throws RpcError key-invalid if two places have different keys
 */
export function sentKey(pathKey: string, headers: IncomingHttpHeaders): string {
  let key = pathKey;
  for (const given of [headers['x-api-key'], bearerIn(headers.authorization)]) {
    if (given === undefined || given === key) continue;
    if (key !== '') throw new RpcError('key-invalid', 'invalid project id: path and headers have different keys');
    key = String(given);
  }
  return key;
}

function bearerIn(authorization = ''): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1];
}
