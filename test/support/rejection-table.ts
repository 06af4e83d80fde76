import { once } from 'node:events';
import { inspect } from 'node:util';
import { closeCodes, rejectionStatuses } from './rejecting-gateway.ts';

/** The columns of the tables of rejections in docs/clients.md. */
export const rejectionHeading = ['client', ...rejectionStatuses.map(String), ...closeCodes.map(String)];

/** How a call of a client ended: its error, `result`, or `timeout`. */
export type CallEnd = { readonly error: unknown } | 'result' | 'timeout';

const MAX_WAIT_MS = 20_000;

/** Waits for the end of a call. Some clients send a rejected call again for minutes. */
export function endOf(call: Promise<unknown>): Promise<CallEnd> {
  const timeout = once(AbortSignal.timeout(MAX_WAIT_MS), 'abort').then(() => 'timeout' as const);
  const ended = call.then(
    () => 'result' as const,
    (error: unknown) => ({ error }),
  );
  return Promise.race([ended, timeout]);
}

/** Whether an error shows the cause. @param atTimeout what the client does instead of ending the call */
export function cellOf(end: CallEnd, text: string, atTimeout: string): string {
  if (end === 'timeout') return atTimeout;
  if (end === 'result') return 'no error';
  const { error } = end;
  if ((error instanceof Error ? error.message : String(error)).includes(text)) return 'yes';
  return inspect(error, { depth: 6 }).includes(text) ? 'in its fields' : 'no';
}
