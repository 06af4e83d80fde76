import { clock } from '../../clock/clock.ts';
import { gatehouse } from '../../admission/account.ts';
import type { Gate } from '../../admission/gate.ts';
import type { BodyRest } from './body-rest.ts';
import type { Cancellation } from './cancellation.ts';
import type { HttpResponse } from './http-exchange.ts';
import type { SentRequest } from './transport.ts';
import { MIN_COUNTED_TIMEOUT_MS, TimedOut } from './upstream-response.ts';

/**
 * Sends a request in a slot, for which it may have to wait. The slot is released when the response has arrived.
 * @throws UpstreamFailure, Cancelled (rejects with it)
 */
export async function withSlot(
  slots: Gate,
  request: SentRequest,
  cancellation: Cancellation | undefined,
  send: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const { deadline, slotDeadline = deadline } = request;
  const owner = cancellation?.owner ?? gatehouse;
  let rest: BodyRest | undefined;
  let isLate = false;
  if (!slots.tryEnter(owner)) {
    await slots.wait(owner, slotDeadline - clock.now(), cancellation);
    request.startedAt = clock.now();
    isLate = deadline - request.startedAt < MIN_COUNTED_TIMEOUT_MS;
  }
  try {
    // The caller may leave after the slot is free and before this continuation.
    if (cancellation?.isCancelled === true) throw cancellation.reason;
    const response = await send();
    ({ rest } = response);
    return response;
  } catch (error) {
    if (isLate && error instanceof TimedOut) error.isCallerTimeout = true;
    throw error;
  } finally {
    if (rest === undefined) slots.leave(owner);
    else
      void rest.ended.then(() => {
        slots.leave(owner);
      });
  }
}
