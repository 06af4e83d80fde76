import { RpcError } from '../jsonrpc/errors.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { RoutedCall } from './routed-call.ts';
import type { ErrorResponse, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** What was seen of heads; made elsewhere (`heads/`). */
interface HeadsSeen {
  headOf(upstream: Upstream): { readonly number: bigint } | undefined;
}

/** Whether an upstream at the head was asked for a block above the newest that any upstream was seen to have. */
export function isAboveHead(
  routedCall: RoutedCall,
  upstream: Upstream,
  all: readonly Upstream[],
  heads: HeadsSeen,
  served: MonotonicReads<Upstream>,
): boolean {
  const highest = highestOf(routedCall);
  if (highest === undefined || heads.headOf(upstream) === undefined || served.isLagging(upstream)) return false;
  const looks = all.map((one) => heads.headOf(one)?.number ?? -1n);
  return highest > Number(served.newest) && looks.every((number) => highest > Number(number));
}

/** Whether all that were asked said that there is no such block. One that was down before does not count. */
export function allLackBlock(failed: readonly FailedOutcome[]): ErrorResponse | undefined {
  let said: ErrorResponse | undefined;
  for (const { failure, response, wasDown } of failed) {
    if (failure === 'no-block' && response?.kind === 'error') said ??= response;
    else if (failure !== 'not-found' && wasDown !== true) return undefined;
  }
  return said;
}

/**
 * The response to a call for a block that there is not: the upstream's own error, by which clients decide whether they
 * retry; null for a lookup.
 * @throws RpcError where a lookup names a block that callers were told of
 */
export function noSuchBlock(routedCall: RoutedCall, said: UpstreamResponse, latest: bigint): UpstreamResponse {
  if (!routedCall.method.nullable) return said;
  const highest = highestOf(routedCall);
  if (highest !== undefined && highest >= 0 && highest <= Number(latest)) throw new RpcError('no-upstream');
  return { kind: 'result', result: null };
}

/** Where there is one upstream only, no blocks were read off the call before. */
function highestOf({ method, params, blocks }: RoutedCall): number | undefined {
  return (blocks ?? blocksNamedBy(method, params))?.highest;
}
