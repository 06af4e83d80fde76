import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { withTimeout } from '../upstreams/health/with-timeout.ts';
import type { Call } from './call.ts';

/** Waits for polls, other workers or the primary, until the deadline of the call. @throws RpcError after it (rejects with it) */
export function inTime<T>({ deadline }: Call, waiting: Promise<T>): Promise<T> {
  return withTimeout(waiting, deadline - clock.now(), () => new RpcError('no-upstream'));
}
