import { methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import type { RoutedCall } from './routed-call.ts';
import { allLackBlock, noSuchBlock } from './no-such-block.ts';
import type { UpstreamLimits } from '../upstreams/upstream-limits.ts';
import type { ErrorResponse, FailureClass, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** What says most about the call itself, first. */
const tellingFailures: readonly FailureClass[] = ['unknown', 'too-large', 'node-state', 'no-block'];

/**
 * The answer when every upstream was tried: the class of what they said decides.
 * @param untried all of them, for where nobody was asked
 * @param latest the newest block that callers were told of
 * @throws RpcError where there is nothing to pass on
 */
export function exhaustedResponse(
  routedCall: RoutedCall,
  untried: readonly { readonly limits: UpstreamLimits | undefined }[],
  latest: bigint,
  now: number,
): UpstreamResponse {
  const { method, failed } = routedCall;
  if (failed.length === 0) throw noCandidateError(untried, now);
  const classes = new Set(failed.map(({ failure }) => failure));
  if (classes.size === 1 && classes.has('unsupported')) return unsupported(method);
  const lacksBlock = allLackBlock(failed);
  if (lacksBlock !== undefined) return noSuchBlock(routedCall, lacksBlock, latest);
  for (const failure of tellingFailures) {
    const response = failed.findLast((verdict) => verdict.failure === failure)?.response;
    if (response?.kind === 'error') return passError(failure, response);
  }
  // HTTP 413, which comes without a node's words.
  if (classes.has('too-large')) throw new RpcError('request-too-large');
  // Nobody lacks a part of the chain: who could answer says that there is no such thing.
  if (classes.has('not-found')) return { kind: 'result', result: null };
  throw new RpcError('no-upstream');
}

/** Why nobody is asked: those who could be are at their limits, or there are none. */
export function noCandidateError(
  untried: readonly { readonly limits: UpstreamLimits | undefined }[],
  now: number,
): RpcError {
  const waits = untried.flatMap(({ limits }) => (limits?.hasCapacity(now) === false ? limits.waitMs(now) : []));
  return waits.length > 0 ? upstreamLimitError(Math.min(...waits)) : new RpcError('no-upstream');
}

/** The answer where nobody has the method. @throws RpcError method-not-found */
export function unsupported(method: MethodSpec): UpstreamResponse {
  if (method.nullWhenUnsupported === true) return { kind: 'result', result: null };
  throw methodNotFound(method.name);
}

function upstreamLimitError(waitMs: number): RpcError {
  const retryAfterS = Math.ceil(waitMs / 1_000);
  return new RpcError('overloaded', 'the upstreams of this network are at their limits', { retryAfterS });
}

function passError(failure: FailureClass, response: ErrorResponse): UpstreamResponse {
  if (failure === 'too-large') throw new RpcError('request-too-large', response.message);
  if (failure === 'node-state' || failure === 'no-block')
    throw new RpcError('node-state', `no upstream could answer: ${response.message}`);
  return response;
}
