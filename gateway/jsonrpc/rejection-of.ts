import { causeOf, type Log } from '../config/log.ts';
import { RpcError } from './errors.ts';

/** What a caller is told of an error. Of an unforeseen one only an id to ask about: the log has the cause. */
export function rejectionOf(error: unknown, requestId: string, log: Log): RpcError {
  if (error instanceof RpcError) return error;
  log.error({ requestId, ...causeOf(error) }, 'internal error');
  return new RpcError('internal-error', `internal error (${requestId})`);
}
