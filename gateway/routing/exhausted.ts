import { methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { RoutedCall } from './routed-call.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { UpstreamLimits } from '../upstreams/upstream-limits.ts';
import type { ErrorResponse, FailureClass, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** Failure classes whose error text describes the call, the most specific first. */
const descriptiveFailures: readonly FailureClass[] = ['unknown', 'too-large', 'node-state', 'no-block'];

/**
 * The response when no upstream is left to try. The failure classes of the attempts decide.
 * @param all upstreams of the network, for the error if none was tried
 * @param newestKnown the newest served block, or the head if that is higher; 0: none is known
 * @throws RpcError if there is no upstream response to pass on
 */
export function exhaustedResponse(
  routedCall: RoutedCall,
  all: readonly { readonly limits: UpstreamLimits | undefined }[],
  newestKnown: bigint,
  now: number,
): UpstreamResponse {
  const { method, failed } = routedCall;
  if (failed.length === 0) throw noCandidateError(all, now);
  const classes = new Set(failed.map(({ failure }) => failure));
  if (classes.size === 1 && classes.has('unsupported')) return unsupportedResponse(method);
  const blockError = missingBlockError(failed);
  const missingBlock = blockError && noSuchBlock(routedCall, blockError, newestKnown);
  if (missingBlock !== undefined) return missingBlock;
  for (const failure of descriptiveFailures) {
    const response = failed.findLast((outcome) => outcome.failure === failure)?.response;
    if (response?.kind === 'error') return errorResponse(failure, response);
  }
  // HTTP 413, which has no JSON-RPC error.
  if (classes.has('too-large')) throw new RpcError('request-too-large');
  // No upstream reported missing data, and those that responded did not find the object.
  if (classes.has('not-found')) return { kind: 'result', result: null };
  throw new RpcError('no-upstream');
}

/** The error if no upstream could be tried: all candidates are at their limits, or there are none. */
export function noCandidateError(
  all: readonly { readonly limits: UpstreamLimits | undefined }[],
  now: number,
): RpcError {
  const waits = all.flatMap(({ limits }) => (limits?.hasCapacity(now) === false ? limits.waitMs(now) : []));
  return waits.length > 0 ? upstreamLimitError(Math.min(...waits)) : new RpcError('no-upstream');
}

/** The response if no upstream supports the method. @throws RpcError method-not-found */
export function unsupportedResponse(method: MethodSpec): UpstreamResponse {
  if (method.nullWhenUnsupported === true) return { kind: 'result', result: null };
  throw methodNotFound(method.name);
}

function upstreamLimitError(waitMs: number): RpcError {
  const retryAfterS = Math.ceil(waitMs / 1_000);
  return new RpcError('overloaded', 'the upstreams of this network are at their limits', { retryAfterS });
}

function errorResponse(failure: FailureClass, response: ErrorResponse): UpstreamResponse {
  if (failure === 'too-large') throw new RpcError('request-too-large', response.message);
  if (failure === 'node-state' || failure === 'no-block')
    throw new RpcError('node-state', `no upstream could answer: ${response.message}`);
  return response;
}

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
function missingBlockError(failed: readonly FailedOutcome[]): ErrorResponse | undefined {
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
function noSuchBlock(
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
