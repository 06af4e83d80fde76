import { admitCall } from '../routing/admit.ts';
import { causeOf, type Log } from '../config/log.ts';
import type { CachedResponse, SentTo } from '../cache/response-cache.ts';
import { rejectionResponse, resultResponse, type RpcResponse } from '../jsonrpc/response.ts';
import type { Call } from '../jsonrpc/envelope.ts';
import { batchBytesRejection, methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import type { KeyAccess } from '../auth/key-access.ts';
import type { Limiter } from '../limits/limiter.ts';
import { ChargedParts } from './charged-parts.ts';
import { checkCall, checkResponseBytes, precheckCall } from './check-call.ts';
import type { DeduplicatedCalls } from './deduplicate-batch.ts';
import { requestUnitsOf } from './request-units.ts';
import { toRpcResponse } from './to-rpc-response.ts';
import type { AccessLogEntry } from '../observability/access-log.ts';
import type { Reservation } from '../memory/reservation.ts';
import type { NetworkMethod, Network } from '../networks/network.ts';
import type { SocketAction } from '../spec/handlers.ts';
import { isRead } from '../spec/method-group.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { lowerHashes } from '../spec/prepare-params.ts';
import { rejectionOverHttp, type SocketSubscriptions } from '../subscriptions/socket-subscriptions.ts';
import type { CallObserver, CallObserverFactory } from '../observability/call-observer.ts';
import { Cancellation, Cancelled } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** The caller of one body and the bounds of its calls. The key is already authenticated. */
export interface CallContext {
  readonly network: Network;
  readonly access: KeyAccess;
  readonly limiter: Limiter;
  /** Shown to the caller, and logged with internal errors. */
  readonly requestId: string;
  /** When all calls of the body must have a response, on the clock of performance.now(). */
  readonly deadline: number;
  /** Cancels the calls in progress when the caller disconnects. */
  readonly caller: Cancellation;
  /** Creates an observer for each call; undefined for most bodies. */
  readonly observers: CallObserverFactory | undefined;
  readonly log: Log;
  /** The duplicates of the batch; undefined if it has none. */
  readonly deduplicated?: DeduplicatedCalls;
  /** Bytes that remain for large results in the response to the batch. */
  readonly batchBudget?: { bytes: number; readonly maxBytes: number };
  /** Subscriptions of the caller's WebSocket; undefined over HTTP. */
  readonly subscriptions?: SocketSubscriptions;
  /** Takes bytes of responses from the memory budget; undefined: they are not accounted. */
  readonly reservation?: Reservation;
  /** The caller is an operator on the ops port. */
  readonly isOperator?: true;
  /** Undefined if the access log is off. */
  readonly logEntry?: AccessLogEntry | undefined;
}

/**
 * Handles one call from envelope to response, over every transport alike. Never rejects.
 * @returns undefined for a notification
 */
export async function handleCall(call: Call, context: CallContext): Promise<RpcResponse | undefined> {
  const startedAt = performance.now();
  const { network, access } = context;
  const method = network.methods.get(call.method);
  const { metric, usage } = method ?? network.otherMethods;
  let outcome = 'result';
  let delivered: RpcResponse | undefined;
  let code: number | undefined;
  const observer = context.observers?.begin(method?.spec.name ?? 'other', network.config.slug, call.id);
  metric.started();
  try {
    requestUnitsOf(call, method, context);
    if (method === undefined) throw notServed(call.method, context);
    const rejection = precheckCall(method, call, access);
    if (rejection !== 'none') throw rejection;
    // A read without an id has neither a response nor an effect, so it is not sent to an upstream.
    if (call.id === undefined && method.spec.sends !== true) outcome = 'notification';
    else if (call.id !== undefined && method.localResult !== undefined) {
      delivered = resultResponse(call.id, method.localResult);
    } else if (method.handler?.by === 'socket' && call.id !== undefined) {
      delivered = resultResponse(call.id, await callSocket(method, method.handler.action, call.params, context));
    } else {
      const response = await upstreamResponseTo(method, call, context, observer);
      outcome = outcomeOf(response);
      if (response.kind === 'error') ({ code } = response);
      if (call.id !== undefined) {
        reserveBytes(response, method, call, context);
        delivered = toRpcResponse(call.id, response);
        checkResponseBytes(delivered.body.length, method, call, context);
        // A transaction has been sent: its hash is always delivered.
        if (response.kind === 'result' && method.spec.sends !== true) context.reservation?.take(delivered.body.length);
      }
    }
  } catch (error) {
    if (error instanceof Cancelled) outcome = 'caller-left';
    else {
      const rejection = error instanceof RpcError ? error : internalError(error, call, context);
      outcome = rejection.reason;
      ({ code } = rejection);
      if (call.id !== undefined) delivered = rejectionResponse(call.id, rejection);
    }
  }
  // Includes the parts of a range. If the call is overloaded, no upstream was used.
  const requestUnits = outcome === 'overloaded' ? 0 : (call.requestUnits ?? 0);
  metric.ended(outcome, startedAt);
  observer?.ended(outcome, code, requestUnits);
  context.logEntry?.callEnded(outcome);
  usage.add(access.record.id, requestUnits, isError(outcome), delivered?.body.length ?? 0);
  return delivered;
}

/** Only operators get the line of the network file that would open the method. */
function notServed(method: string, { network: { unserved }, isOperator }: CallContext): RpcError {
  unserved.record(method);
  return methodNotFound(method, isOperator && unserved.hintFor(method));
}

async function callSocket(
  { spec }: NetworkMethod,
  action: SocketAction,
  params: readonly unknown[],
  context: CallContext,
): Promise<string> {
  if (context.subscriptions === undefined) throw rejectionOverHttp(action);
  return context.subscriptions.call(spec, action, params, context);
}

function upstreamResponseTo(
  method: NetworkMethod,
  call: Call,
  context: CallContext,
  observer: CallObserver | undefined,
): Promise<UpstreamResponse | CachedResponse> | UpstreamResponse | CachedResponse {
  const { network, deduplicated } = context;
  const { handler } = method;
  if (handler?.by === 'filters') {
    const requestLogs = (filter: unknown): Promise<UpstreamResponse | CachedResponse> =>
      requestFilterLogs(call, filter, context, observer);
    return network.filters.handle(handler.action, call.params, { access: context.access, requestLogs });
  }
  if (handler?.by === 'document') return network.document().response;
  if (deduplicated === undefined) return requestUpstreams(method, call, call.params, call.text, context, observer);
  return deduplicated.response(method, call, () =>
    requestUpstreams(method, call, call.params, call.text, context, observer),
  );
}

/** Reads the logs of a filter. Permissions for requests of logs apply to it. @throws RpcError */
async function requestFilterLogs(
  call: Call,
  filter: unknown,
  context: CallContext,
  observer: CallObserver | undefined,
): Promise<UpstreamResponse | CachedResponse> {
  const logs = context.network.methods.get(nodeMethods.logs);
  if (logs === undefined) throw methodNotFound(nodeMethods.logs);
  const rejection = checkCall(logs, [filter], undefined, context.access);
  if (rejection !== 'none') throw rejection;
  return requestUpstreams(logs, call, [filter], undefined, context, observer);
}

/**
 * Gets a response from the cache, from an identical call in progress (request coalescing), or from an upstream.
 * @param originalText the parameters as JSON text, if that exists already
 */
function requestUpstreams(
  method: NetworkMethod,
  call: Call,
  originalParams: readonly unknown[],
  originalText: string | undefined,
  context: CallContext,
  observer: CallObserver | undefined,
): Promise<UpstreamResponse | CachedResponse> | CachedResponse {
  const { spec, cache } = method;
  const { network, deadline, caller, reservation } = context;
  const { share: owner, bounds } = context.access;
  const { coalesced, upstreams, queue } = network;
  const params = lowerHashes(spec, originalParams);
  const text = params === originalParams && originalText !== undefined ? originalText : JSON.stringify(params);
  if (method.ranges !== undefined)
    return method.ranges.request({
      ...{ params, text, deadline, caller, share: owner, bounds, reservation, observer },
      charges: new ChargedParts(call, method, context),
    });
  if (!method.isCoalescable) {
    observer?.cached('not-cacheable');
    const own = new Cancellation(owner);
    // A method that sends transactions is never cancelled.
    if (isRead(spec)) caller.add(own);
    const response = admitCall(upstreams, queue, { method: spec, params, text, deadline, caller: own, observer });
    return response.finally(() => {
      caller.delete(own);
      method.afterCall?.();
    });
  }
  // Reported first, and replaced by a miss below: a hit in Redis is not reported separately.
  observer?.cached(cache === undefined ? (spec.cache === undefined ? 'not-cacheable' : 'off') : 'hit');
  const cached = cache?.find(text);
  if (cached !== undefined) return { kind: 'cached', result: cached };
  const request = (cancellation: Cancellation, sentTo?: SentTo): Promise<UpstreamResponse> =>
    admitCall(upstreams, queue, { method: spec, params, text, deadline, caller: cancellation, observer, sentTo });
  const participant = { deadline, caller, owner };
  const key = `${spec.name} ${text}`;
  if (cache === undefined) return coalesced.request(key, participant, request, observer);
  const fetch = (cancellation: Cancellation): Promise<UpstreamResponse | CachedResponse> =>
    cache.fetch(params, text, (sentTo) => {
      observer?.cached(cache.isCacheable(params) ? 'miss' : 'not-cacheable');
      return request(cancellation, sentTo);
    });
  return coalesced.request(key, participant, fetch, observer);
}

/** Runs before a large result is used, since one result may serve many calls. @throws RpcError */
function reserveBytes(
  response: UpstreamResponse | CachedResponse,
  method: NetworkMethod,
  call: Call,
  context: CallContext,
): void {
  const { batchBudget, reservation } = context;
  let bytes = 0;
  if (response.kind === 'cached') bytes = response.result.length;
  else if (response.kind === 'large') for (const { length } of response.parts) bytes += length;
  else return;
  checkResponseBytes(bytes, method, call, context);
  if (batchBudget !== undefined && (batchBudget.bytes -= bytes) < 0) throw batchBytesRejection(batchBudget.maxBytes);
  if (response.kind === 'cached' || response.isReserved !== true) reservation?.take(bytes);
}

function outcomeOf(response: UpstreamResponse | CachedResponse): string {
  if (response.kind === 'large' || response.kind === 'cached') return 'result';
  if (response.kind === 'result') return response.result === null ? 'null' : 'result';
  return response.code === 3 ? 'revert' : 'upstream-error';
}

function isError(outcome: string): boolean {
  return outcome !== 'result' && outcome !== 'null' && outcome !== 'notification' && outcome !== 'caller-left';
}

/** Logs the cause. The caller only gets the request id, by which the log entry is found. */
function internalError(error: unknown, call: Call, { network, requestId, log }: CallContext): RpcError {
  const method = network.methods.has(call.method) ? call.method : 'other';
  log.error({ requestId, network: network.config.slug, method, ...causeOf(error) }, 'internal error');
  return new RpcError('internal-error', `internal error (${requestId})`);
}
