import { methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { RoutedCall } from './routed-call.ts';
import { missingBlockError, noSuchBlock } from './no-such-block.ts';
import type { UpstreamLimits } from '../upstreams/upstream-limits.ts';
import type { ErrorResponse, FailureClass, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

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
