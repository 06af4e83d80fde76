import type { ConfirmNull } from '../network/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply } from './reply.ts';
import type { Upstream } from './upstream.ts';

/**
 * Whether a null is worth a second opinion: the look-up is by hash, and the node may be the only one not to know. geth
 * with a short transaction index, and a node that lags, say null for what exists (node-variants §1.7).
 */
export function doubtsNull(
  when: ConfirmNull,
  method: MethodSpec,
  reply: Reply,
  upstream: Upstream,
  all: readonly Upstream[],
): boolean {
  if (reply.kind !== 'result' || reply.result !== null || method.nullWhenUnsupported !== true) return false;
  if (when !== 'behind' || all.length === 1) return when === 'always' && all.length > 1;
  return upstream.lacksHistory || isBehind(upstream, all);
}

/** Behind the newest head seen. A head that was never seen proves nothing. */
function isBehind({ head }: Upstream, all: readonly Upstream[]): boolean {
  return head !== undefined && all.some((other) => other.head !== undefined && other.head.number > head.number);
}
