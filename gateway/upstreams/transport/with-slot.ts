import { clock } from '../../clock/clock.ts';
import { type Gate, gatehouse } from '../../admission/gate.ts';
import type { Cancellation } from './cancellation.ts';
import type { HttpResponse } from './http-exchange.ts';
import type { SentRequest } from './transport.ts';
import { MIN_COUNTED_TIMEOUT_MS, TimedOut } from './upstream-response.ts';

/**
 * Sends a request in a slot, for which it may have to wait. The slot is released at its end.
 * @throws UpstreamFailure, Cancelled (rejects with it)
 */
export async function withSlot(
  slots: Gate,
  request: SentRequest,
  cancellation: Cancellation | undefined,
  send: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const { deadline } = request;
  const owner = cancellation?.owner ?? gatehouse;
  let isLate = false;
  if (!slots.tryEnter(owner)) {
    await slots.wait(owner, deadline - clock.now(), cancellation);
    request.startedAt = clock.now();
    isLate = deadline - request.startedAt < MIN_COUNTED_TIMEOUT_MS;
  }
  try {
    // The caller may leave after the slot is free and before this continuation.
    if (cancellation?.isCancelled === true) throw cancellation.reason;
    return await send();
  } catch (error) {
    if (isLate && error instanceof TimedOut) error.isCallerTimeout = true;
    throw error;
  } finally {
    slots.leave(owner);
  }
}
