import type { Body } from '../../jsonrpc/buffer-list.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { bodyRejectionResponse, type RpcResponse } from '../../jsonrpc/response.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { CallContext } from '../../call/call-context.ts';
import { handleBody } from '../../call/handle-body.ts';
import { DECODED_FACTOR, REQUEST_BYTES } from '../http/request-options.ts';
import type { SessionOptions } from './session-options.ts';

type MessageContext = CallContext & { readonly reservation: Reservation };

interface MessageResponse {
  /** Undefined: the message has only notifications. */
  readonly body: Body | undefined;
  /** As a whole. */
  readonly isRejected: boolean;
}

/**
 * Handles one message of a WebSocket, which has a slot of its key. Never fails. The response is there at once, if no upstream
 * is needed.
 */
export function handleMessage(
  message: Buffer,
  context: MessageContext,
  options: SessionOptions,
): MessageResponse | Promise<MessageResponse> {
  try {
    context.reservation.begin(REQUEST_BYTES + message.length * (1 + DECODED_FACTOR));
    const response = handleBody(message, context, options.batch);
    return response instanceof Promise ? respondToMessageLater(response, context, options) : respond(response, context);
  } catch (error) {
    return reject(error, context, options);
  }
}

async function respondToMessageLater(
  response: Promise<RpcResponse | undefined>,
  context: MessageContext,
  options: SessionOptions,
): Promise<MessageResponse> {
  try {
    return respond(await response, context);
  } catch (error) {
    return reject(error, context, options);
  }
}

function respond(response: RpcResponse | undefined, { logEntry }: MessageContext): MessageResponse {
  logEntry?.write();
  return { body: response?.body, isRejected: response !== undefined && response.status >= 400 };
}

function reject(
  error: unknown,
  { logEntry, network, access }: MessageContext,
  { metrics, recentCalls, requestId, log }: SessionOptions,
): MessageResponse {
  const rejection = rejectionOf(error, requestId, log);
  metrics.rejected(rejection.reason);
  recentCalls?.addRejection({ requestId, network: network.config.slug, key: access.record }, rejection);
  logEntry?.rejectedBy(rejection);
  logEntry?.write(rejection.reason);
  return { body: bodyRejectionResponse(rejection).body, isRejected: true };
}
