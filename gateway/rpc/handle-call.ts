import { causeOf } from '../config/log.ts';
import type { CachedResponse } from '../cache/response-cache.ts';
import { rejectionResponse, resultResponse, type RpcResponse } from '../jsonrpc/response.ts';
import type { Call } from '../jsonrpc/envelope.ts';
import { batchBytesRejection, methodNotFound, RpcError } from '../jsonrpc/errors.ts';
import { checkResponseBytes, precheckCall } from './check-call.ts';
import { requestUnitsOf } from './request-units.ts';
import { requestResponse } from './request-upstreams.ts';
import { toRpcResponse } from './to-rpc-response.ts';
import type { NetworkMethod } from '../networks/network.ts';
import type { SocketAction } from '../spec/handlers.ts';
import { rejectionOverHttp } from '../subscriptions/socket-subscriptions.ts';
import type { CallObserver } from '../observability/call-observer.ts';
import type { Receiver } from '../upstreams/receiver.ts';
import { Cancelled } from '../upstreams/transport/cancellation.ts';
import type { LargeResponse, UpstreamResponse } from '../upstreams/transport/upstream-response.ts';
import type { CallContext } from './call-context.ts';

type UpstreamOrCached = UpstreamResponse | CachedResponse;

/** Gets the response to one call: at once, if no upstream is needed for it. Undefined: the call is a notification. */
type CallReceiver = Pick<Receiver<RpcResponse | undefined>, 'succeeded'>;

/** Handles one call from envelope to response, over every transport alike. Never fails. */
export function handleCall(call: Call, context: CallContext, receiver: CallReceiver): void {
  new HandledCall(call, context, receiver).begin();
}

/** One call in progress. */
class HandledCall implements Receiver<UpstreamOrCached> {
  readonly #startedAt = performance.now();
  readonly #call: Call;
  readonly #context: CallContext;
  readonly #method: NetworkMethod | undefined;
  readonly #observer: CallObserver | undefined;
  #outcome = 'result';
  #code: number | undefined;
  #delivered: RpcResponse | undefined;
  readonly #receiver: CallReceiver;

  constructor(call: Call, context: CallContext, receiver: CallReceiver) {
    const { network, observers } = context;
    this.#call = call;
    this.#context = context;
    this.#receiver = receiver;
    this.#method = network.methods.get(call.method);
    this.#observer = observers?.begin(this.#method?.spec.name ?? 'other', network.config.slug, call.id);
  }

  begin(): void {
    const method = this.#method;
    (method ?? this.#context.network.otherMethods).metric.started();
    try {
      requestUnitsOf(this.#call, method, this.#context);
      if (method === undefined) throw notServed(this.#call.method, this.#context);
      this.#request(method);
    } catch (error) {
      this.failed(error);
    }
  }

  #request(method: NetworkMethod): void {
    const call = this.#call;
    const context = this.#context;
    const { spec, handler, localResult } = method;
    const rejection = call.precheck ?? precheckCall(method, call, context.access);
    if (rejection !== 'none') throw rejection;
    // A read without an id has neither a response nor an effect, so it is not sent to an upstream.
    if (call.id === undefined && spec.sends !== true) this.#end('notification');
    else if (call.id !== undefined && localResult !== undefined) this.#deliverResult(call.id, localResult);
    else if (handler?.by === 'socket' && call.id !== undefined) {
      const { id } = call;
      callSocket(method, handler.action, call.params, context).then(
        (result) => {
          this.#deliverResult(id, result);
        },
        (error: unknown) => {
          this.failed(error);
        },
      );
    } else requestResponse(method, call, context, this.#observer, this);
  }

  #deliverResult(id: string, result: string): void {
    this.#delivered = resultResponse(id, result);
    this.#end('result');
  }

  succeeded(response: UpstreamOrCached): void {
    const call = this.#call;
    const context = this.#context;
    const method = this.#method as NetworkMethod;
    try {
      this.#outcome = outcomeOf(response);
      if (response.kind === 'error') this.#code = response.code;
      if (call.id !== undefined) {
        if (response.kind === 'cached' || response.kind === 'large') reserveBytes(response, method, call, context);
        const delivered = toRpcResponse(call.id, response);
        checkResponseBytes(delivered.body.length, method, call, context);
        // A transaction has been sent: its hash is always delivered.
        if (response.kind === 'result' && method.spec.sends !== true) context.reservation?.take(delivered.body.length);
        this.#delivered = delivered;
      }
    } catch (error) {
      this.failed(error);
      return;
    }
    this.#end(this.#outcome);
  }

  failed(error: unknown): void {
    if (error instanceof Cancelled) {
      this.#end('caller-left');
      return;
    }
    const call = this.#call;
    const rejection = error instanceof RpcError ? error : internalError(error, call, this.#context);
    this.#code = rejection.code;
    if (call.id !== undefined) this.#delivered = rejectionResponse(call.id, rejection);
    this.#end(rejection.reason);
  }

  #end(outcome: string): void {
    const { network, access, logEntry } = this.#context;
    const { metric, usage } = this.#method ?? network.otherMethods;
    // Includes the parts of a range. If the call is overloaded, no upstream was used.
    const requestUnits = outcome === 'overloaded' ? 0 : (this.#call.requestUnits ?? 0);
    metric.ended(outcome, this.#startedAt);
    this.#observer?.ended(outcome, this.#code, requestUnits);
    logEntry?.callEnded(outcome);
    usage.add(access.record.id, requestUnits, isError(outcome), this.#delivered?.body.length ?? 0);
    this.#receiver.succeeded(this.#delivered);
  }
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

/** Runs before a large result is used, since one result may serve many calls. @throws RpcError */
function reserveBytes(
  response: LargeResponse | CachedResponse,
  method: NetworkMethod,
  call: Call,
  context: CallContext,
): void {
  const { batchBudget, reservation } = context;
  let bytes = 0;
  if (response.kind === 'cached') bytes = response.result.length;
  else for (const { length } of response.parts) bytes += length;
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
