import type { MethodCache } from '../cache/method-cache.ts';
import type { CompleteResponse, NetworkResponse } from '../cache/response-cache.ts';
import { methodNotFound } from '../jsonrpc/errors.ts';
import type { RpcResponse } from '../jsonrpc/response.ts';
import type { Handler } from '../spec/handlers.ts';
import { nodeMethods } from '../spec/methods.generated.ts';
import { prepareParams } from '../spec/prepare-params.ts';
import { rejectionOverHttp } from '../subscriptions/socket-subscriptions.ts';
import type { LevelOf } from '../subscriptions/subscription-params.ts';
import { complete } from '../upstreams/transport/flowing-result.ts';
import type { Call, CallContext, Network, NetworkMethod, Serve } from './call.ts';
import { checkCall, checkParams, requestUnitsOf } from './check.ts';
import { begun, ended } from './events.ts';
import { forward } from './forward.ts';
import { inTime } from './in-time.ts';
import { dependsOnServed } from './monotonic-reads.ts';
import type { CallResponse, LocalResponse } from './network.ts';
import { requestRange } from './request-range.ts';
import { respond, respondWithError } from './respond.ts';
import { nameOf, sendAlone, sendCoalesced } from './send.ts';
import { isEnough } from './verification.ts';

export type MaybePromise<Value> = Value | Promise<Value>;

/** A layer of a call that may be sent. @throws RpcError, Cancelled (or rejects with it) */
type Send = (call: Call, context: CallContext) => MaybePromise<NetworkResponse>;

/**
 * Handles one call from envelope to response, over every transport alike. Never fails. A response that needs no upstream is
 * there at once. Undefined: the call is a notification, or its caller has disconnected.
 */
export function handleCall(call: Call, context: CallContext): MaybePromise<RpcResponse | undefined> {
  begun(call, context);
  try {
    requestUnitsOf(call, context);
    checkCall(call, context);
    // A read without an id has neither a response nor an effect, so it is not sent to an upstream.
    if (call.id === undefined && call.method.sends !== true) {
      ended(call, 'notification', undefined, 0);
      return undefined;
    }
    const response = (call.served as NetworkMethod).serve(call, context);
    return response instanceof Promise ? respondLater(call, context, response) : respond(call, context, response);
  } catch (error) {
    return respondWithError(call, context, error);
  }
}

async function respondLater(
  call: Call,
  context: CallContext,
  response: Promise<CallResponse>,
): Promise<RpcResponse | undefined> {
  try {
    return respond(call, context, await response);
  } catch (error) {
    return respondWithError(call, context, error);
  }
}

/**
 * Layers that the calls of a method pass after their check, composed when its network opens. eth_chainId has one. The last layer
 * gets the response from the cache, from an identical call in progress (request coalescing), or from upstreams.
 */
export function layersOf(
  method: Omit<NetworkMethod, 'serve'>,
  { config, chain }: Pick<Network, 'config' | 'chain'>,
): Serve {
  const { spec, handler, ranges, cache, isCoalescable } = method;
  if (handler?.by === 'local') {
    const response: LocalResponse = { kind: 'local', json: handler.result(config) };
    return () => response;
  }
  if (handler !== undefined) return (call, context) => answer(call, context, handler);
  const send: Send =
    ranges !== undefined
      ? (call, context) => requestRange(call, context, ranges)
      : isCoalescable
        ? (call, context) => findOrForward(call, context, cache)
        : forwardAlone;
  const prepared: Send = (call, context) => {
    call.replaceParams(prepareParams(spec, call.params));
    if (context.verification !== undefined) call.verification = context.verification.of(call);
    return send(call, context);
  };
  const current = chain.isShared ? whenCurrent(prepared) : prepared;
  return isCoalescable ? oncePerBatch(current) : current;
}

/** Layer that gets one response for the duplicates of a batch, each of which has an id of its own. */
function oncePerBatch(next: Send): Send {
  return (call, context) => {
    const { duplicates } = context;
    const key = duplicates && call.name + call.text;
    if (key === undefined || !duplicates?.has(key)) return next(call, context);
    const response = duplicates.get(key) ?? next(call, context);
    duplicates.set(key, response);
    return response;
  };
}

/** Layer of a worker that may lack blocks that others have served: it learns them first, if the result depends on them. */
function whenCurrent(next: Send): Send {
  return (call, context) => {
    const { chain } = context.network;
    const current = chain.whenCurrent();
    return current === undefined || !dependsOnServed(chain.view, call)
      ? next(call, context)
      : inTime(call, current).then(() => next(call, context));
  };
}

/** The response to a method that the gateway handles itself. */
function answer(call: Call, context: CallContext, handler: Handler): MaybePromise<CallResponse> {
  const { network, access } = context;
  switch (handler.by) {
    case 'socket':
      return callSocket(call, context, handler.action);
    case 'filters': {
      const requestLogs = (filter: unknown) => filterLogs(call, context, filter);
      return network.filters.handle(handler.action, call.params, { access, requestLogs, levelOf: levelsOf(context) });
    }
    default:
      return network.document().responseAt(context.originOf?.());
  }
}

/** Gets a result from memory, from an identical call in progress, or from upstreams. @throws RpcError (or rejects with it) */
function findOrForward(
  call: Call,
  context: CallContext,
  cache: MethodCache | undefined,
): MaybePromise<NetworkResponse> {
  const { verification } = call;
  const name = cache === undefined ? `${call.method.name} ${nameOf(call)}` : cache.keyOf(nameOf(call));
  const cached = cache?.find(name);
  if (cached !== undefined && (verification === undefined || isEnough(cached.proof, verification))) {
    call.record?.cached('hit');
    return cached;
  }
  return sendCoalesced(call, name, context, context.caller, () => {
    if (cache !== undefined) return forwardThrough(cache, call, name);
    call.record?.cached(call.method.cache === undefined ? 'not-cacheable' : 'off');
    return forward(call);
  });
}

/** Stores the response in the cache, unless the durable one has it. @throws RpcError, Cancelled (rejects with it) */
async function forwardThrough(cache: MethodCache, call: Call, key: string): Promise<NetworkResponse> {
  const { params, verification } = call;
  const durable = verification === undefined ? cache.findDurable(params, key) : undefined;
  const found = durable && (await durable);
  if (found !== undefined) {
    call.record?.cached('hit');
    return { kind: 'cached', result: found };
  }
  const missed = cache.missed(key);
  call.isRequestedAgain = missed.isRequestedAgain;
  call.record?.cached(cache.isCacheable(params) ? 'miss' : 'not-cacheable');
  const response = await forward(call);
  // A result that could be proven, and is not, is not cached: there may be evidence at the next call.
  const isUnproven = response.kind !== 'flowing' && response.proof === 'no' && call.method.provenAs !== undefined;
  if (response.kind === 'flowing' || isUnproven) return response;
  // The cached JSON is reused, so that the result is serialised once.
  const result = cache.store(params, key, response, call.headHash, missed);
  if (result === undefined) return response;
  return verification === undefined ? { kind: 'cached', result } : { kind: 'cached', result, proof: response.proof };
}

/** A method that changes something, or of which little is known. @throws RpcError, Cancelled (rejects with it) */
async function forwardAlone(call: Call, { caller }: CallContext): Promise<NetworkResponse> {
  call.record?.cached('not-cacheable');
  try {
    return await sendAlone(call, caller);
  } finally {
    if (call.attempts > 0) call.served?.afterCall?.();
  }
}

async function callSocket(
  call: Call,
  context: CallContext,
  action: Extract<Handler, { readonly by: 'socket' }>['action'],
): Promise<LocalResponse> {
  if (context.subscriptions === undefined) throw rejectionOverHttp(action);
  const { method, params } = call;
  return {
    kind: 'local',
    json: await context.subscriptions.call(method, action, params, context, levelsOf(context)),
  };
}

/** How far is proven what subscriptions and filters deliver. */
function levelsOf({ verification, network }: CallContext): LevelOf {
  const { verificationOf } = network.router.options;
  return (method) => verification?.levelOf(verificationOf(method).level) ?? 'off';
}

/** Reads the logs of a filter. Permissions for requests of logs apply to it. @throws RpcError (rejects with it) */
async function filterLogs(call: Call, context: CallContext, filter: unknown): Promise<CompleteResponse> {
  const logs = context.network.methods.get(nodeMethods.logs);
  if (logs === undefined) throw methodNotFound(nodeMethods.logs);
  const rejection = checkParams(logs, [filter], undefined, context.access);
  if (rejection !== 'none') throw rejection;
  const derived = call.derive(logs.spec, [filter]);
  derived.served = logs;
  derived.record = call.record;
  derived.requestUnits = call.requestUnits;
  try {
    return complete((await logs.serve(derived, context)) as NetworkResponse);
  } finally {
    call.requestUnits = derived.requestUnits;
  }
}
