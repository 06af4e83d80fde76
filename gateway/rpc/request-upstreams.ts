import type { MethodCache } from '../cache/method-cache.ts';
import type { CachedResponse, SentTo } from '../cache/response-cache.ts';
import type { Call } from '../jsonrpc/envelope.ts';
import { methodNotFound } from '../jsonrpc/errors.ts';
import type { NetworkMethod } from '../networks/network.ts';
import type { CallObserver } from '../observability/call-observer.ts';
import { admitCall } from '../routing/admit.ts';
import { isRead } from '../spec/method-group.ts';
import type { FilterAction } from '../spec/handlers.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { prepareParams } from '../spec/prepare-params.ts';
import { deliver, promised, type Receiver } from '../upstreams/receiver.ts';
import { Cancellation } from '../upstreams/transport/cancellation.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import { ChargedParts } from './charged-parts.ts';
import { checkCall } from './check-call.ts';
import type { CallContext } from './call-context.ts';
import type { DeduplicatedCalls } from './deduplicate-batch.ts';

type Response = UpstreamResponse | CachedResponse;

/** Gets the response to a call from the state that the network's callers share, or from upstreams. */
export function requestResponse(
  method: NetworkMethod,
  call: Call,
  context: CallContext,
  observer: CallObserver | undefined,
  receiver: Receiver<Response>,
): void {
  const { handler } = method;
  if (handler?.by === 'filters') requestFilter(handler.action, call, context, observer, receiver);
  else if (handler?.by === 'document')
    receiver.succeeded(context.network.document().responseAt(context.address?.origin));
  else if (context.deduplicated === undefined)
    requestUpstreams(method, call, call.params, call.text, context, observer, receiver);
  else deliver(Promise.resolve(requestDeduplicated(method, call, context, context.deduplicated, observer)), receiver);
}

function requestFilter(
  action: FilterAction,
  call: Call,
  context: CallContext,
  observer: CallObserver | undefined,
  receiver: Receiver<Response>,
): void {
  const requestLogs = (filter: unknown): Promise<Response> => filterLogs(call, filter, context, observer);
  const handled = context.network.filters.handle(action, call.params, { access: context.access, requestLogs });
  deliver(Promise.resolve(handled), receiver);
}

function requestDeduplicated(
  method: NetworkMethod,
  call: Call,
  context: CallContext,
  deduplicated: DeduplicatedCalls,
  observer: CallObserver | undefined,
): ReturnType<DeduplicatedCalls['response']> {
  return deduplicated.response(method, call, () =>
    promised((receiver) => {
      requestUpstreams(method, call, call.params, call.text, context, observer, receiver);
    }),
  );
}

/** Reads the logs of a filter. Permissions for requests of logs apply to it. @throws RpcError */
async function filterLogs(
  call: Call,
  filter: unknown,
  context: CallContext,
  observer: CallObserver | undefined,
): Promise<Response> {
  const logs = context.network.methods.get(nodeMethods.logs);
  if (logs === undefined) throw methodNotFound(nodeMethods.logs);
  const rejection = checkCall(logs, [filter], undefined, context.access);
  if (rejection !== 'none') throw rejection;
  return promised((receiver) => {
    requestUpstreams(logs, call, [filter], undefined, context, observer, receiver);
  });
}

/**
 * Gets a response from the cache, from an identical call in progress (request coalescing), or from an upstream. Each way
 * with closures is a function of its own: a closure costs memory even where it is not used.
 * @param originalText the parameters as JSON text, if that exists already
 * @param receiver gets the response, at once if it is cached; RpcError or Cancelled
 */
function requestUpstreams(
  method: NetworkMethod,
  call: Call,
  originalParams: readonly unknown[],
  originalText: string | undefined,
  context: CallContext,
  observer: CallObserver | undefined,
  receiver: Receiver<Response>,
): void {
  const { spec, cache, ranges } = method;
  const params = prepareParams(spec, originalParams);
  const text = params === originalParams && originalText !== undefined ? originalText : JSON.stringify(params);
  if (ranges !== undefined) {
    const { deadline, caller, reservation } = context;
    const { share, bounds } = context.access;
    const charges = new ChargedParts(call, method, context);
    deliver(
      ranges.request({ params, text, deadline, caller, share, bounds, reservation, observer, charges }),
      receiver,
    );
    return;
  }
  if (!method.isCoalescable) {
    observer?.cached('not-cacheable');
    requestAlone(method, params, text, context, observer, receiver);
    return;
  }
  // Reported first, and replaced by a miss below: a hit in Redis is not reported separately.
  observer?.cached(cache === undefined ? (spec.cache === undefined ? 'not-cacheable' : 'off') : 'hit');
  const cached = cache?.find(text);
  if (cached !== undefined) receiver.succeeded({ kind: 'cached', result: cached });
  else requestCoalesced(method, params, text, context, observer, receiver);
}

function requestAlone(
  { spec, afterCall }: NetworkMethod,
  params: readonly unknown[],
  text: string,
  { network, access, deadline, caller, batchBudget: clientBatch }: CallContext,
  observer: CallObserver | undefined,
  receiver: Receiver<Response>,
): void {
  const own = new Cancellation(access.share, clientBatch);
  // A method that sends transactions is never cancelled.
  if (isRead(spec)) caller.add(own);
  const end = (): void => {
    caller.delete(own);
    afterCall?.();
  };
  const upstreamCall = { method: spec, params, text, deadline, caller: own, observer };
  admitCall(network.upstreams, network.queue, upstreamCall, {
    succeeded: (response) => {
      end();
      receiver.succeeded(response);
    },
    failed: (error) => {
      end();
      receiver.failed(error);
    },
  });
}

function requestCoalesced(
  { spec, cache }: NetworkMethod,
  params: readonly unknown[],
  text: string,
  { network, access, deadline, caller, batchBudget: clientBatch }: CallContext,
  observer: CallObserver | undefined,
  receiver: Receiver<Response>,
): void {
  const { coalesced, upstreams, queue } = network;
  const send = (cancellation: Cancellation, inFlight: Receiver<UpstreamResponse>, sentTo?: SentTo): void => {
    const upstreamCall = { method: spec, params, text, deadline, caller: cancellation, observer, sentTo };
    admitCall(upstreams, queue, upstreamCall, inFlight);
  };
  const participant = { deadline, caller, owner: access.share, clientBatch };
  const key = `${spec.name} ${text}`;
  if (cache === undefined) coalesced.join(key, participant, send, receiver, observer);
  else coalesced.join(key, participant, throughCache(cache, params, text, send, observer), receiver, observer);
}

function throughCache(
  cache: MethodCache,
  params: readonly unknown[],
  text: string,
  send: (cancellation: Cancellation, filling: Receiver<UpstreamResponse>, sentTo: SentTo) => void,
  observer: CallObserver | undefined,
) {
  return (cancellation: Cancellation, inFlight: Receiver<Response>): void => {
    const request = (sentTo: SentTo, filling: Receiver<UpstreamResponse>): void => {
      observer?.cached(cache.isCacheable(params) ? 'miss' : 'not-cacheable');
      send(cancellation, filling, sentTo);
    };
    cache.fetch(params, text, request, inFlight);
  };
}
