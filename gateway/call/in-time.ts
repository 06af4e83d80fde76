import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import type { Call } from './call.ts';

/** Waits for other workers or the primary, until the deadline of the call. @throws RpcError after it (rejects with it) */
export function inTime<T>({ deadline }: Call, waiting: Promise<T>): Promise<T> {
  return withTimeout(waiting, deadline - clock.now(), () => new RpcError('no-upstream'));
}

/** Waits as `inTime`, but the deadline ends the wait without an error: the call may have a response to pass on. */
export async function untilDeadline(call: Call, waiting: Promise<unknown>): Promise<void> {
  try {
    await inTime(call, waiting);
  } catch (error) {
    if (clock.now() < call.deadline) throw error;
  }
}
