import { clock } from '../clock/clock.ts';
import { methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { blocksNamedBy, type NamedBlocks } from '../upstreams/available-blocks.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import { inChainOrder } from '../normalise/results/merge-logs.ts';
import { MAX_RETRY_AFTER_MS } from '../upstreams/health/circuit-breaker.ts';
import { UpstreamsAtLimit } from '../upstreams/upstream-limits.ts';
import type { ErrorResponse, FailureClass, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Call } from './call.ts';
import { acceptUnconfirmed, isMissing, noneCouldAnswer } from './confirm.ts';
import { isKnownNewBlock } from './monotonic-reads.ts';
import { recordServed } from './record-served.ts';

/** Failure classes whose error text describes the call, the most specific first. */
const descriptiveFailures: readonly FailureClass[] = ['unknown', 'too-large', 'node-state', 'no-block'];

/** The response when no upstream is left to try. @throws RpcError if there is no upstream response to pass on (or rejects) */
export function exhausted(call: Call): UpstreamResponse | Promise<UpstreamResponse> {
  const { unconfirmed, irregular } = call;
  return unconfirmed === undefined || irregular !== undefined
    ? responseOfFailures(call)
    : acceptUnconfirmed(call, unconfirmed);
}

/** The failure classes of the attempts decide. @throws RpcError if there is no upstream response to pass on (or rejects) */
export function responseOfFailures(call: Call): UpstreamResponse | Promise<UpstreamResponse> {
  const { router, method, failed, irregular, range, verification, candidates = router.all } = call;
  const { view } = router.chain;
  const refused = range === undefined ? undefined : failed.findLast(({ failure }) => failure === 'too-large');
  // Smaller parts may be served, also by the upstreams that failed otherwise.
  if (refused !== undefined || range?.hasSkipped === true) throw tooLargeError(refused?.response);
  if (failed.length === 0 && irregular === undefined)
    throw noCandidateError(candidates, clock.now(), call.cancellation?.owner);
  const message = method.isPassThrough === true ? noneCouldAnswer(call) : undefined;
  const noUpstream = (): RpcError => new RpcError('no-upstream', message, { retryAfterS: requestedWaitS(failed) });
  const classes = new Set(failed.map(({ failure }) => failure));
  if (classes.size === 1 && classes.has('unsupported')) {
    // One that the call may not try, for example because of `maxAttempts`, may support the method.
    if (candidates.some((upstream) => mayStillSupport(call, upstream))) throw new RpcError('no-upstream');
    return unsupportedResponse(method);
  }
  if (classes.has('unproven') || classes.has('disproved')) throw new RpcError('not-proven');
  if (irregular !== undefined) {
    if (verification?.isRequired === true || verification?.agree !== undefined) throw new RpcError('not-proven');
    return sortedLogs(call, irregular);
  }
  // Without evidence from an upstream at the head, the block or object may exist: the client must retry. A block in place of
  // a tag was not named by the client.
  const mayExist = !call.isMissingAtHead || call.pinned !== undefined || isKnownNewBlock(view, call);
  if (mayExist && failed.some(isMissing)) throw noUpstream();
  const blockError = missingBlockError(failed);
  const missingBlock = blockError && noSuchBlock(call, blockError, view.newestKnown);
  if (missingBlock !== undefined) return missingBlock;
  for (const failure of descriptiveFailures) {
    const response = failed.findLast((outcome) => outcome.failure === failure)?.response;
    if (response?.kind === 'error') return errorResponse(call, failure, response);
  }
  // HTTP 413, which has no JSON-RPC error.
  if (classes.has('too-large')) throw new RpcError('request-too-large');
  // No upstream reported missing data, and those that responded did not find the object.
  if (classes.has('not-found')) return { kind: 'result', result: null };
  throw noUpstream();
}

/** Logs that all upstreams have in the same wrong order, or more than once. */
async function sortedLogs(
  call: Call,
  { response, upstream }: NonNullable<Call['irregular']>,
): Promise<UpstreamResponse> {
  const { chain, options } = call.router;
  options.metrics.returnedIrregular();
  const sorted = await inChainOrder(response, call.timeOwnerFor(upstream));
  recordServed(chain, upstream, call, sorted, clock.now());
  return sorted;
}

/** The shortest time for which the upstreams asked with `Retry-After`; undefined: one of them did not ask. */
function requestedWaitS(failed: readonly FailedOutcome[]): number | undefined {
  const waitMs = Math.min(...failed.map(({ retryAfterMs = 0 }) => retryAfterMs), MAX_RETRY_AFTER_MS);
  return waitMs > 0 ? Math.ceil(waitMs / 1_000) : undefined;
}

function mayStillSupport({ method, tried }: Call, upstream: Upstream): boolean {
  const { isOnOtherChain, drain, methods } = upstream;
  return !tried.includes(upstream) && !isOnOtherChain && drain === undefined && !methods.isUnsupported(method.name);
}

/** The error if no upstream could be tried: all candidates are at their limits, or there are none. */
export function noCandidateError(
  candidates: readonly Pick<Upstream, 'limits' | 'circuit'>[],
  now: number,
  owner?: object,
): RpcError {
  const waits = candidates.flatMap(
    ({ limits, circuit }) => circuit.pauseMs(now, owner) ?? (limits?.hasCapacity() === false ? limits.waitMs : []),
  );
  return waits.length > 0 ? new UpstreamsAtLimit(Math.min(...waits)) : new RpcError('no-upstream');
}

/** The response if no upstream supports the method. @throws RpcError method-not-found */
function unsupportedResponse(method: MethodSpec): UpstreamResponse {
  if (method.nullWhenUnsupported === true) return { kind: 'result', result: null };
  throw methodNotFound(method.name);
}

function tooLargeError(response: UpstreamResponse | undefined): RpcError {
  return new RpcError('request-too-large', response?.kind === 'error' ? response.message : undefined);
}

function errorResponse(call: Call, failure: FailureClass, response: ErrorResponse): UpstreamResponse {
  if (failure === 'too-large') throw tooLargeError(response);
  if (failure !== 'node-state' && failure !== 'no-block') return response;
  throw new RpcError('node-state', `${noneCouldAnswer(call)}: ${response.message}`);
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
function noSuchBlock(call: Call, error: ErrorResponse, newestKnown: bigint): UpstreamResponse | undefined {
  const { nullable } = call.method;
  const highest = highestOf(call);
  const isNumber = highest !== undefined && highest >= 0;
  if (isNumber && highest <= Number(newestKnown)) {
    if (nullable) throw new RpcError('no-upstream');
    return undefined;
  }
  const tag = namedBlocks(call)?.tag;
  // Geth's text for a node without its consensus client names the tag, so it is evidence.
  if (!nullable || (tag !== undefined && error.message.startsWith(`${tag} block not found`))) return error;
  return isNumber && newestKnown > 0n ? { kind: 'result', result: null } : undefined;
}

/** The blocks of a call. With one upstream only, `blocks` is not set, and is read here. */
function namedBlocks({ method, params, blocks }: Call): NamedBlocks | undefined {
  return blocks ?? blocksNamedBy(method, params);
}

export function highestOf(call: Call): number | undefined {
  return namedBlocks(call)?.highest;
}
