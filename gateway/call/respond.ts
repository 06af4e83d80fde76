import type { KeyAccess } from '../auth/key-access.ts';
import { batchBytesRejection, beyondBound, RpcError } from '../jsonrpc/errors.ts';
import type { Proof } from '../jsonrpc/proof.ts';
import { rejectionOf } from '../jsonrpc/rejection-of.ts';
import {
  errorResponse,
  largeResponse,
  rejectionResponse,
  responseBytes,
  responseStart,
  resultResponse,
  type RpcResponse,
} from '../jsonrpc/response.ts';
import { lower, responseTooLong } from '../spec/bounds.ts';
import { Cancelled } from '../upstreams/transport/cancellation.ts';
import type { FlowingResponse } from '../upstreams/transport/flowing-result.ts';
import type { Call, CallContext, Network } from './call.ts';
import { ended, usageReasonOf, verified } from './events.ts';
import type { CallResponse } from './network.ts';

/** Smaller results are delivered to each caller when memory is high. */
const SMALL_BYTES = 65_536;

/** Ends a call with its response. Undefined: the call is a notification. @throws RpcError if it exceeds a bound */
export function respond(call: Call, context: CallContext, response: CallResponse): RpcResponse | undefined {
  const { id, method } = call;
  const code = response.kind === 'error' ? response.code : undefined;
  if (id === undefined) {
    ended(call, outcomeOf(response), code, 0);
    return undefined;
  }
  if (response.kind === 'flowing') {
    recordProof(call, context, 'no');
    return respondFlowing(call, id, response);
  }
  if ((response.kind === 'cached' || response.kind === 'large') && method.sends !== true)
    reserveBytes(call, context, response);
  if (response.kind !== 'local') recordProof(call, context, response.proof ?? 'no');
  const delivered = toRpcResponse(id, response);
  const { length } = delivered.body;
  // A transaction has been sent: its hash or receipt is always delivered.
  if (method.sends === true) context.reservation?.add(length);
  else if (response.kind !== 'local') {
    checkResponseBytes(call, context, length);
    if (response.kind === 'result') context.reservation?.take(length, true);
  }
  ended(call, outcomeOf(response), code, length);
  return delivered;
}

/** Records what proves a result, if results of its body are proven. */
function recordProof(call: Call, { verification }: CallContext, proof: Proof): void {
  if (verification === undefined) return;
  verification.add(proof);
  verified(call, proof);
}

/** Begins the response to a call whose result flows. The call ends with its result. */
function respondFlowing(call: Call, id: string, { result, ended: end }: FlowingResponse): RpcResponse {
  const body = responseStart(id);
  void end.then((error) => {
    ended(call, outcomeOfFlow(error), undefined, result.bytes + responseBytes(id));
  });
  return { status: 200, body, result };
}

function outcomeOfFlow(error: unknown): string {
  if (error === undefined) return 'result';
  if (error instanceof RpcError) return error.reason;
  return error instanceof Cancelled ? 'caller-left' : 'incomplete';
}

/** Ends a call that has no response: it is rejected, failed, or its caller has disconnected. */
export function respondWithError(call: Call, context: CallContext, error: unknown): RpcResponse | undefined {
  if (error instanceof Cancelled) {
    ended(call, 'caller-left', undefined, 0);
    return undefined;
  }
  const facts = { network: context.network.config.slug, method: call.method.name };
  const rejection = rejectionOf(error, context.requestId, context.log, facts);
  const delivered = call.id === undefined ? undefined : rejectionResponse(call.id, rejection);
  ended(call, rejection.reason, rejection.code, delivered?.body.length ?? 0, rejection);
  return delivered;
}

/** The parts of a call's context that a rejection needs. */
export type RejectionContext = Pick<CallContext, 'network' | 'access' | 'logEntry'> &
  Partial<Pick<CallContext, 'printers'>>;

/** Builds the response to a request that is rejected before it is a call, and counts it in metrics and usage. */
export function rejectRequest(
  id: string | undefined,
  rejection: RpcError,
  { network: { otherMethods }, access, logEntry, printers = [] }: RejectionContext,
  units = 0,
): RpcResponse | undefined {
  const response = id === undefined ? undefined : rejectionResponse(id, rejection);
  otherMethods.metric.count(rejection.reason);
  if (rejection.rule !== undefined) otherMethods.metric.rejectedBy(rejection.rule);
  logEntry?.callEnded(rejection.reason);
  for (const printer of printers) printer.rejected?.(rejection);
  const bytes = response?.body.length ?? 0;
  otherMethods.usage.add(access.record.id, units, usageReasonOf(rejection), bytes, access.token !== undefined);
  return response;
}

/** Counts the rejection of a whole request by a permission or limit of its key, in metrics and usage. */
export function countRejection(rejection: RpcError, { otherMethods }: Network, { record, token }: KeyAccess): void {
  if (rejection.rule === undefined) return;
  otherMethods.metric.rejectedBy(rejection.rule);
  otherMethods.usage.add(record.id, 0, usageReasonOf(rejection), 0, token !== undefined);
}

function toRpcResponse(id: string, response: Exclude<CallResponse, FlowingResponse>): RpcResponse {
  switch (response.kind) {
    case 'local':
      return resultResponse(id, response.json);
    case 'cached':
      return typeof response.result === 'string'
        ? resultResponse(id, response.result)
        : largeResponse(id, [response.result]);
    case 'result':
      return resultResponse(id, response.text ?? JSON.stringify(response.result));
    case 'large':
      return largeResponse(id, response.parts);
    case 'error':
      return errorResponse(id, response.code, response.message, response.data);
  }
}

/** Runs before a large result is used, since one result may serve many calls. @throws RpcError */
function reserveBytes(
  call: Call,
  context: CallContext,
  response: Extract<CallResponse, { readonly kind: 'cached' | 'large' }>,
): void {
  const { batchBudget, reservation } = context;
  let bytes = 0;
  if (response.kind === 'cached') bytes = response.result.length;
  else for (const { length } of response.parts) bytes += length;
  checkResponseBytes(call, context, bytes);
  if (batchBudget !== undefined && (batchBudget.bytes -= bytes) < 0) throw batchBytesRejection(batchBudget.maxBytes);
  if (response.kind === 'large' && response.isReserved === true) return;
  reservation?.take(bytes, bytes <= SMALL_BYTES);
}

/** @throws RpcError if the response has more bytes than the bound of the network or key */
function checkResponseBytes({ method, params }: Call, { network, access }: CallContext, bytes: number): void {
  const limit = lower(network.bounds.maxResponseBytes, access.bounds?.maxResponseBytes);
  if (limit === undefined || bytes <= limit) return;
  throw beyondBound(responseTooLong(method, params, bytes, limit));
}

function outcomeOf(response: CallResponse): string {
  if (response.kind === 'result') return response.result === null ? 'null' : 'result';
  if (response.kind === 'error') return response.code === 3 ? 'revert' : 'upstream-error';
  return 'result';
}
