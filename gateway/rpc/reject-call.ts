import { rejectionResponse, type RpcResponse } from '../jsonrpc/response.ts';
import type { RpcError } from '../jsonrpc/errors.ts';
import type { CallContext } from './call-context.ts';

/** The parts of a call's context that a rejection needs. */
export type RejectionContext = Pick<CallContext, 'network' | 'access' | 'logEntry'>;

/** Builds the response to a call that is rejected before `handleCall`, and counts it in metrics and usage. */
export function rejectCall(
  id: string | undefined,
  rejection: RpcError,
  { network: { otherMethods }, access, logEntry }: RejectionContext,
  units = 0,
): RpcResponse | undefined {
  const response = id === undefined ? undefined : rejectionResponse(id, rejection);
  otherMethods.metric.count(rejection.reason);
  logEntry?.callEnded(rejection.reason);
  otherMethods.usage.add(access.record.id, units, true, response?.body.length ?? 0);
  return response;
}
