import { differentKeys, isKeyless, sentKey, tokenBeside } from '../../auth/sent-key.ts';
import { isToken } from '../../auth/tokens/token-form.ts';
import { accessWithSecret, type KeyAccess } from '../../auth/key-access.ts';
import { checkEntry } from '../../auth/permissions/entry-permissions.ts';
import { countRejection } from '../../call/respond.ts';
import type { RpcError } from '../../jsonrpc/errors.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import type { IncomingRequest } from './client-connection.ts';
import type { RequestOptions } from './request-options.ts';

/** The key or token at `target`, or in headers; '' if there is none. @throws RpcError key-invalid or token-invalid */
export function keyOf({ authenticator }: RequestOptions, { target, headers }: IncomingRequest): string {
  const { keyPlaces } = authenticator;
  return keyPlaces === undefined ? target.key : sentKey(target.key, headers, keyPlaces, target.isWebSocket);
}

/**
 * What the key may do; without a key, what the address may.
 * @param mayHaveToken false: the request is a preflight, which cannot have the token that narrows its key
 * @returns no promise for a known key, which most are
 * @throws RpcError (or rejects with it)
 */
export function accessOf(
  options: RequestOptions,
  request: IncomingRequest,
  mayHaveToken = true,
): KeyAccess | Promise<KeyAccess> {
  const { target, headers, clientConnection } = request;
  const { authenticator, proxies } = options;
  const address = proxies.addressOf(request);
  const key = keyOf(options, request);
  const publicAccess = target.network?.publicAccess;
  if (publicAccess !== undefined && isKeyless(key, headers)) return publicAccess.accessOf(address);
  const isInPath = key === target.key;
  const digest = isInPath ? clientConnection.digestOf(target) : undefined;
  const found = authenticator.authenticate(key, address, digest, isInPath && target.isWebSocket);
  if (!mayHaveToken) return found;
  return found instanceof Promise
    ? found.then((access) => narrowed(options, request, access, key))
    : narrowed(options, request, found, key);
}

/** The access of a key with the token beside it. @throws RpcError (or rejects with it) */
function narrowed(
  { authenticator, proxies }: RequestOptions,
  request: IncomingRequest,
  access: KeyAccess,
  key: string,
): KeyAccess | Promise<KeyAccess> {
  // Most keys have no tokens.
  if (access.tokens === undefined && authenticator.keyPlaces === undefined) return access;
  const token = isToken(key) ? undefined : tokenBeside(key, request.headers);
  if (access.tokens !== undefined) return authenticator.withToken(access, token, proxies.addressOf(request));
  // Where headers may have keys and tokens, none is ignored.
  if (token !== undefined && isToken(token)) throw differentKeys();
  return access;
}

/** Checks whether the key may be used for the request. @throws RpcError */
export function checkAccess({ proxies }: RequestOptions, request: IncomingRequest, found: KeyAccess): void {
  const { network, headers } = request;
  const access = (request.access = accessWithSecret(found, headers.authorization));
  request.logEntry?.setKey(access.record.id);
  if (access.entry.length > 0)
    checkEntry(access.entry, { network: network.config.slug, address: proxies.addressOf(request), headers });
}

/** Counts and logs the rejection of a request, as far as its caller is known. */
export function recordRejection(
  { log, metrics, recentCalls }: RequestOptions,
  { id, target, access, logEntry }: Pick<IncomingRequest, 'id'> & Partial<IncomingRequest>,
  error: unknown,
): RpcError {
  const rejection = rejectionOf(error, id, log);
  metrics.rejected(rejection.reason);
  logEntry?.rejectedBy(rejection);
  const network = target?.network;
  recentCalls?.addRejection({ requestId: id, network: network?.config.slug, key: access?.record }, rejection);
  if (access !== undefined && network !== undefined) countRejection(rejection, network, access);
  return rejection;
}
