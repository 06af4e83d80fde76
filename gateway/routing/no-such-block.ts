import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { RoutedCall } from './routed-call.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { ErrorResponse, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** The polled heads (`heads/`). */
interface PolledHeads {
  headOf(upstream: Upstream): { readonly number: bigint } | undefined;
}

/** Whether the call names a block above every polled head, and the upstream that does not have it is not lagging. */
export function isAboveHead(
  routedCall: RoutedCall,
  upstream: Upstream,
  all: readonly Upstream[],
  heads: PolledHeads,
  monotonic: MonotonicReads<Upstream>,
): boolean {
  const highest = highestOf(routedCall);
  if (highest === undefined || heads.headOf(upstream) === undefined || monotonic.isLagging(upstream)) return false;
  const numbers = all.map((one) => heads.headOf(one)?.number ?? -1n);
  return highest > Number(monotonic.newest) && numbers.every((number) => highest > Number(number));
}

/** The first error, if all attempts failed because the block does not exist. Attempts at open circuits do not count. */
export function missingBlockError(failed: readonly FailedOutcome[]): ErrorResponse | undefined {
  let error: ErrorResponse | undefined;
  for (const { failure, response, wasCircuitOpen } of failed) {
    if (failure === 'no-block' && response?.kind === 'error') error ??= response;
    else if (failure !== 'not-found' && wasCircuitOpen !== true) return undefined;
  }
  return error;
}

/**
 * The response to a call for a block that does not exist: null for a lookup, else the upstream's own error, by which
 * clients decide whether to retry. A lookup is null only for a number above the newest known block: the texts of these
 * errors are not anchored, and of a hash or a tag they are no evidence.
 * @param newestKnown the newest served block, or the head if that is higher; 0: none is known
 * @returns undefined if the error is no evidence that the block does not exist
 * @throws RpcError if a lookup names a block at or below the newest known block
 */
export function noSuchBlock(
  routedCall: RoutedCall,
  error: UpstreamResponse,
  newestKnown: bigint,
): UpstreamResponse | undefined {
  const { nullable } = routedCall.method;
  const highest = highestOf(routedCall);
  const isNumber = highest !== undefined && highest >= 0;
  if (isNumber && highest <= Number(newestKnown)) {
    if (nullable) throw new RpcError('no-upstream');
    return undefined;
  }
  if (!nullable) return error;
  return isNumber && newestKnown > 0n ? { kind: 'result', result: null } : undefined;
}

/** With one upstream only, `blocks` is not set, and is read here. */
function highestOf({ method, params, blocks }: RoutedCall): number | undefined {
  return (blocks ?? blocksNamedBy(method, params))?.highest;
}
