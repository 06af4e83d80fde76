import type { ConfirmNull } from '../network/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply } from './reply.ts';

/**
 * Whether a null, or a node that says it is syncing, is worth a second opinion: the node may be the only one not to know. geth with a short transaction
 * index, and a node that lags, say null for what exists (node-variants §1.7).
 * @param isBehind whether the node lags, or was found to lack a part of the chain
 * @param isKnown whether callers have seen what is said not to be
 */
export function doubtsNull(
  when: ConfirmNull,
  method: MethodSpec,
  reply: Reply,
  isBehind: () => boolean,
  isKnown: () => boolean,
): boolean {
  if (reply.kind !== 'result') return false;
  // Callers are served by those that keep up.
  if (method.name === 'eth_syncing') return reply.result !== false;
  if (reply.result !== null || !method.nullable || when === 'never') return false;
  if (when === 'always' && method.looksUpHash === true) return true;
  return isBehind() || isKnown();
}
