import { clock } from '../clock/clock.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { MIN_ATTEMPT_MS, type ErrorResponse } from '../upstreams/transport/upstream-response.ts';
import type { BlockRange } from './pending-ranges.ts';
import { hex } from './range-filter.ts';

/** The error of an upstream for a part, which is the response to the whole request. */
export class FailedPart extends Error {
  override readonly name = 'FailedPart';
  readonly response: ErrorResponse;

  constructor(response: ErrorResponse) {
    super(response.message);
    this.response = response;
  }
}

/** The failure of the whole request because of one part, which its message names. Other errors stay as they are. */
export function partFailure(failure: unknown, range: BlockRange): unknown {
  if (failure instanceof RpcError) {
    const { reason, retryAfterS } = failure;
    const isOfUpstreams = reason === 'no-upstream' || reason === 'node-state' || reason === 'request-too-large';
    if (!isOfUpstreams) return failure;
    return new RpcError(reason, withRange(failure.message, range), retryAfterS === undefined ? {} : { retryAfterS });
  }
  return failure;
}

export function failedPart(response: ErrorResponse, range: BlockRange): FailedPart {
  return new FailedPart({ ...response, message: withRange(response.message, range) });
}

/** Whether an error is due to the deadline: then upstreams had no time to respond. */
export function isTimeOver(error: unknown, deadline: number): boolean {
  return error instanceof RpcError && error.reason === 'no-upstream' && clock.now() + MIN_ATTEMPT_MS >= deadline;
}

function withRange(message: string, { from, to }: BlockRange): string {
  return `${message} (fromBlock ${hex(from)}, toBlock ${hex(to)})`;
}
