import { causeOf, type Log } from '../config/log.ts';
import { RpcError } from './errors.ts';

/** The rejection for an error. For an unexpected error it has the request id only; the log has the cause, and the facts. */
export function rejectionOf(error: unknown, requestId: string, log: Log, facts?: object): RpcError {
  if (error instanceof RpcError) return error;
  log.error({ requestId, ...facts, ...causeOf(error) }, 'internal error');
  return new RpcError('internal-error', `internal error (${requestId})`);
}
