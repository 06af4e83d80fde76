import type { ConfirmNull } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/**
 * Whether a null, or a node that says it is syncing, is worth a second opinion: the node may be the only one not to know. geth with a short transaction
 * index, and a node that lags, say null for what exists (node-variants §1.7).
 * @param isBehind whether the node lags, or was found to lack a part of the chain
 * @param isKnown whether callers have seen what is said not to be
 */
export function needsNullConfirmation(
  policy: ConfirmNull,
  method: MethodSpec,
  response: UpstreamResponse,
  isBehind: () => boolean,
  isKnown: () => boolean,
): boolean {
  if (response.kind !== 'result') return false;
  // Callers are served by those that keep up.
  if (method.name === 'eth_syncing') return response.result !== false;
  if (response.result !== null || !method.nullable || policy === 'never') return false;
  if (policy === 'always' && method.looksUpHash === true) return true;
  return isBehind() || isKnown();
}
