import type { ConfirmNull } from '../network/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply } from './reply.ts';

/**
 * Whether a null is worth a second opinion: the look-up is by hash, and the node may be the only one not to know. geth
 * with a short transaction index, and a node that lags, say null for what exists (node-variants §1.7).
 * @param isBehind whether the node lags, or was found to lack a part of the chain
 */
export function doubtsNull(when: ConfirmNull, method: MethodSpec, reply: Reply, isBehind: () => boolean): boolean {
  if (reply.kind !== 'result' || reply.result !== null || method.nullWhenUnsupported !== true) return false;
  return when === 'always' || (when === 'behind' && isBehind());
}
