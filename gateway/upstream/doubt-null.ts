import type { ConfirmNull } from '../network/network-config.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { Reply } from './reply.ts';
import type { Head } from './head.ts';
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

/** Of heads that were seen further apart nothing is said: a quick chain has new blocks meanwhile. */
const SEEN_TOGETHER_MS = 1_000;

/** Behind the head of another that was seen at the same time. A head that was never seen proves nothing. */
function isBehind({ head }: Upstream, all: readonly Upstream[]): boolean {
  return head !== undefined && all.some((other) => other.head !== undefined && isAhead(other.head, head));
}

function isAhead(other: Head, head: Head): boolean {
  return other.number > head.number && Math.abs(other.at - head.at) < SEEN_TOGETHER_MS;
}
