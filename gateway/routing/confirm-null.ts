import type { ConfirmNull } from '../network-files/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/**
 * Whether a null needs null confirmation, that is a second response from another upstream. geth with a short transaction
 * index, and a node that lags, return null for objects that exist. A syncing status needs it as well.
 * @param isBehind whether the upstream lags, or does not have a part of the chain
 * @param hasServed whether callers were served the object that is null here
 */
export function needsNullConfirmation(
  policy: ConfirmNull,
  method: MethodSpec,
  response: UpstreamResponse,
  isBehind: () => boolean,
  hasServed: () => boolean,
): boolean {
  if (response.kind !== 'result') return false;
  // `false` of one upstream is enough: calls are sent to upstreams that are not behind.
  if (method.resultIs === 'sync-status') return response.result !== false;
  if (response.result !== null || !method.nullable || policy === 'never') return false;
  if (policy === 'always' && method.looksUpHash === true) return true;
  return isBehind() || hasServed();
}
