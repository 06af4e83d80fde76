import type { Body } from '../../jsonrpc/buffer-list.ts';
import { rejectionOf } from '../../jsonrpc/rejection-of.ts';
import { bodyRejectionResponse } from '../../jsonrpc/response.ts';
import type { Reservation } from '../../memory/reservation.ts';
import type { CallContext } from '../../rpc/call-context.ts';
import { handleBody } from '../../rpc/handle-body.ts';
import { DECODED_FACTOR, REQUEST_BYTES } from '../http/request-options.ts';
import type { SessionOptions } from './session-options.ts';

type MessageContext = CallContext & { readonly reservation: Reservation };

/**
 * Handles one message of a WebSocket, which has a slot of its key.
 * @param end called once, with the response if there is one: at once, if no upstream is needed
 */
export function handleMessage(
  message: Buffer,
  context: MessageContext,
  { batch, metrics, requestId, log }: SessionOptions,
  end: (body: Body | undefined, isRejected: boolean) => void,
): void {
  const failed = (error: unknown): void => {
    const rejection = rejectionOf(error, requestId, log);
    metrics.rejected(rejection.reason);
    context.logEntry?.write(rejection.reason);
    end(bodyRejectionResponse(rejection).body, true);
  };
  try {
    context.reservation.begin(REQUEST_BYTES + message.length * (1 + DECODED_FACTOR));
    handleBody(message, context, batch, {
      succeeded: (response) => {
        context.logEntry?.write();
        end(response?.body, response !== undefined && response.status >= 400);
      },
      failed,
    });
  } catch (error) {
    failed(error);
  }
}
