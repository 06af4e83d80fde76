import { methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import { changesNode } from '../spec/method-facts.ts';
import { changesChain, isRead } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { MIN_ATTEMPT_MS } from './attempts.ts';
import type { RoutedCall } from './routed-call.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import { blocksNamedBy } from '../upstreams/available-blocks.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import { MAX_RETRY_AFTER_MS, type CircuitBreaker } from '../upstreams/health/circuit-breaker.ts';
import type { UpstreamLimits } from '../upstreams/upstream-limits.ts';
import type { ErrorResponse, FailureClass, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** An upstream that was polled this recently is not polled again for a call. */
const MIN_POLL_AGE_MS = 50;
/** Maximum time for which a call waits for these polls. */
const MAX_POLL_WAIT_MS = 1_000;

/** Failure classes whose error text describes the call, the most specific first. */
const descriptiveFailures: readonly FailureClass[] = ['unknown', 'too-large', 'node-state', 'no-block'];

/**
 * The response when no upstream is left to try. The failure classes of the attempts decide.
 * @param candidates the upstreams that may get the call, for the error if none was tried
 * @throws RpcError if there is no upstream response to pass on
 */
export function exhaustedResponse(
  routedCall: RoutedCall,
  candidates: readonly Upstream[],
  monotonic: MonotonicReads<Upstream>,
  now: number,
): UpstreamResponse {
  const { method, failed, range } = routedCall;
  const refused = range === undefined ? undefined : failed.findLast(({ failure }) => failure === 'too-large');
  // Smaller parts may be served, also by the upstreams that failed otherwise.
  if (refused !== undefined || range?.hasSkipped === true) throw tooLargeError(refused?.response);
  if (failed.length === 0) throw noCandidateError(candidates, now);
  const noUpstream = (): RpcError => new RpcError('no-upstream', undefined, { retryAfterS: requestedWaitS(failed) });
  const classes = new Set(failed.map(({ failure }) => failure));
  if (classes.size === 1 && classes.has('unsupported')) {
    // One that the call may not try, for example because of `maxAttempts`, may support the method.
    if (candidates.some((upstream) => mayStillSupport(routedCall, upstream))) throw new RpcError('no-upstream');
    return unsupportedResponse(method);
  }
  // Without evidence from an upstream at the head, the block or object may exist: the client must retry.
  if (failed.some(isMissing) && (!routedCall.isMissingAtHead || monotonic.isKnownNewBlock(routedCall)))
    throw noUpstream();
  const blockError = missingBlockError(failed);
  const missingBlock = blockError && noSuchBlock(routedCall, blockError, monotonic.newestKnown);
  if (missingBlock !== undefined) return missingBlock;
  for (const failure of descriptiveFailures) {
    const response = failed.findLast((outcome) => outcome.failure === failure)?.response;
    if (response?.kind === 'error') return errorResponse(failure, response);
  }
  // HTTP 413, which has no JSON-RPC error.
  if (classes.has('too-large')) throw new RpcError('request-too-large');
  // No upstream reported missing data, and those that responded did not find the object.
  if (classes.has('not-found')) return { kind: 'result', result: null };
  throw noUpstream();
}

/** The shortest time for which the upstreams asked with `Retry-After`; undefined: one of them did not ask. */
function requestedWaitS(failed: readonly FailedOutcome[]): number | undefined {
  const waitMs = Math.min(...failed.map(({ retryAfterMs = 0 }) => retryAfterMs), MAX_RETRY_AFTER_MS);
  return waitMs > 0 ? Math.ceil(waitMs / 1_000) : undefined;
}

function mayStillSupport({ method, tried }: RoutedCall, upstream: Upstream): boolean {
  return !tried.includes(upstream) && !upstream.isOnOtherChain && !upstream.methods.isUnsupported(method.name);
}

/** The error if no upstream could be tried: all candidates are at their limits, or there are none. */
export function noCandidateError(
  candidates: readonly {
    readonly limits: UpstreamLimits | undefined;
    readonly circuit: Pick<CircuitBreaker, 'pauseMs'>;
  }[],
  now: number,
): RpcError {
  const waits = candidates.flatMap(
    ({ limits, circuit }) => circuit.pauseMs(now) ?? (limits?.hasCapacity(now) === false ? limits.waitMs(now) : []),
  );
  return waits.length > 0 ? new UpstreamsAtLimit(Math.min(...waits)) : new RpcError('no-upstream');
}

/** The response if no upstream supports the method. @throws RpcError method-not-found */
function unsupportedResponse(method: MethodSpec): UpstreamResponse {
  if (method.nullWhenUnsupported === true) return { kind: 'result', result: null };
  throw methodNotFound(method.name);
}

/** All upstreams are at their `limits`. Other calls are overloaded because of the gateway's own bounds. */
export class UpstreamsAtLimit extends RpcError {
  constructor(waitMs: number) {
    const retryAfterS = Math.ceil(waitMs / 1_000);
    super('overloaded', 'the upstreams of this network are at their limits', { retryAfterS });
  }
}

function tooLargeError(response: UpstreamResponse | undefined): RpcError {
  return new RpcError('request-too-large', response?.kind === 'error' ? response.message : undefined);
}

function errorResponse(failure: FailureClass, response: ErrorResponse): UpstreamResponse {
  if (failure === 'too-large') throw tooLargeError(response);
  if (failure === 'node-state' || failure === 'no-block')
    throw new RpcError('node-state', `no upstream could answer: ${response.message}`);
  return response;
}

/** Failure classes of a call that the upstream rejected without executing it. */
const rejections: ReadonlySet<FailureClass> = new Set(['unsupported', 'rate', 'quota', 'auth', 'wrong-chain']);

/**
 * Whether a call may be sent again after a failed attempt. A pass-through method is not, after a response, unless its range
 * was too large; one that may change something is not, after a timeout either.
 */
export function canSendAgain(
  { method, range }: Pick<RoutedCall, 'method' | 'range'>,
  { failure, response }: FailedOutcome,
): boolean {
  if (method.isPassThrough !== true || rejections.has(failure)) return true;
  if (range !== undefined && failure === 'too-large') return true;
  const hasResponded = response !== undefined || failure === 'malformed';
  return !hasResponded && !changesChain(method) && !changesNode(method.name);
}

/** The polled heads (`heads/`). */
interface PolledHeads {
  /** Without a header, it is the number of a block that it returned to a caller. */
  headOf(upstream: Upstream): { readonly number: bigint; readonly at: number; readonly header: unknown } | undefined;
  /** Polls an upstream's head now. */
  poll(upstream: Upstream): Promise<unknown>;
  /** Whether its newest known block became known after this time. */
  hasAdvancedSince(upstream: Upstream, time: number): boolean;
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

/** Whether the upstream returned that it does not have the block or object. */
export function isMissing({ failure }: FailedOutcome): boolean {
  return failure === 'no-block' || failure === 'not-found';
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

/**
 * Polls the heads of the upstreams that lag, once per call, before the call fails because of them. Polls are a block time
 * apart, so an upstream may have the block by now, also one that failed before and is in its cooldown. Those that have
 * caught up count as untried.
 * @returns whether an upstream has caught up
 */
export async function pollLagging(
  routedCall: RoutedCall,
  upstreams: readonly Upstream[],
  heads: PolledHeads,
  monotonic: MonotonicReads<Upstream>,
): Promise<boolean> {
  const { method, deadline, tried, askedAt } = routedCall;
  const now = performance.now();
  if (routedCall.hasPolledHeads || !isRead(method) || deadline - now <= MIN_ATTEMPT_MS) return false;
  const mayLag = (upstream: Upstream): boolean => monotonic.isLagging(upstream) || upstream.isHeadUncertain;
  // The last attempt may have taken so long that others got the block since they were asked.
  const hasAdvanced = (upstream: Upstream): boolean => heads.hasAdvancedSince(upstream, askedAt) && !mayLag(upstream);
  const advanced = routedCall.failed.some(isMissing) ? tried.filter(hasAdvanced) : [];
  if (advanced.length > 0) {
    for (const upstream of advanced) forgetAttempt(routedCall, upstream);
    return true;
  }
  routedCall.hasPolledHeads = true;
  const lagging = upstreams.filter(
    (upstream) =>
      !upstream.isOnOtherChain &&
      (monotonic.isLagging(upstream) || isUncertain(upstream, routedCall)) &&
      !(method.isPassThrough === true && tried.includes(upstream)) &&
      (upstream.isHeadUncertain || !wasPolledSince(now - MIN_POLL_AGE_MS, heads.headOf(upstream))),
  );
  if (lagging.length === 0) return false;
  const polls = lagging.map(async (upstream) => {
    await heads.poll(upstream);
    if (mayLag(upstream)) throw new Error('the upstream still lags');
  });
  const waitMs = Math.min(deadline - now - MIN_ATTEMPT_MS, MAX_POLL_WAIT_MS);
  await withTimeout(Promise.any(polls), waitMs, () => new Error('no upstream has caught up in time')).catch(
    () => undefined, // upstreams without a response still lag
  );
  const caughtUp = lagging.filter((upstream) => !mayLag(upstream));
  if (caughtUp.length === 0) return false;
  // A null of an upstream at the head stays, for the case that those that have caught up fail.
  if (!routedCall.isMissingAtHead) routedCall.unconfirmed = undefined;
  routedCall.pinned = undefined;
  for (const upstream of caughtUp) forgetAttempt(routedCall, upstream);
  return true;
}

function forgetAttempt(routedCall: RoutedCall, upstream: Upstream): void {
  const at = routedCall.tried.indexOf(upstream);
  if (at !== -1) routedCall.tried = routedCall.tried.toSpliced(at, 1);
}

/**
 * Whether the upstream failed since its last poll, and was skipped because of that, or returned what needs confirmation: after
 * a poll, its response may be evidence.
 */
function isUncertain(upstream: Upstream, { unconfirmed, tried, method, blocks }: RoutedCall): boolean {
  if (!upstream.isHeadUncertain) return false;
  if (unconfirmed !== undefined) return upstream.circuit.isClosed;
  return !tried.includes(upstream) && (blocks?.tag === 'latest' || method.resultIs === 'logs');
}

function wasPolledSince(time: number, head: ReturnType<PolledHeads['headOf']>): boolean {
  return head?.header !== undefined && head.at >= time;
}
