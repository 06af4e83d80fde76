import type { KeyAccess } from '../auth/key-access.ts';
import type { Call } from '../jsonrpc/envelope.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { Network, NetworkMethod } from '../networks/network.ts';
import { lower, responseTooLong } from '../spec/bounds.ts';

/** Checks a call's parameters, the key's permissions and the bounds for it, once. Returns the rejection, or `none`. */
export function precheckCall(method: NetworkMethod, call: Call, access: KeyAccess): RpcError | 'none' {
  if (call.precheck === undefined) {
    call.precheck = checkCall(method, call.params, call.originalParamsText, access);
    call.originalParamsText = undefined;
  }
  return call.precheck;
}

/** @param originalText the parameters as the caller wrote them; undefined if they were checked before */
export function checkCall(
  { spec, check, checkBounds }: NetworkMethod,
  params: readonly unknown[],
  originalText: string | undefined,
  { calls: permissions, bounds }: KeyAccess,
): RpcError | 'none' {
  if (permissions?.allowMethod(spec) === false) return new RpcError('key-settings');
  const problem = check(params, originalText);
  if (problem !== undefined) return new RpcError('invalid-params', problem);
  if (permissions?.allowParams(spec, params) === false) return new RpcError('key-settings');
  const excess = checkBounds?.(params, bounds);
  return excess === undefined ? 'none' : new RpcError('beyond-bound', excess);
}

/** @throws RpcError if the response has more bytes than the bound of the network or key */
export function checkResponseBytes(
  bytes: number,
  { spec }: NetworkMethod,
  { params }: Call,
  { network, access }: { readonly network: Network; readonly access: KeyAccess },
): void {
  const limit = lower(network.bounds.maxResponseBytes, access.bounds?.maxResponseBytes);
  if (limit === undefined || bytes <= limit) return;
  throw new RpcError('beyond-bound', responseTooLong(spec, params, bytes, limit));
}
