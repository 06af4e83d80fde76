import { setTimeout as delay } from 'node:timers/promises';
import { MIN_ATTEMPT_MS } from '../attempts.ts';
import type { RoutedCall } from '../routed-call.ts';

/** One second in all. */
const WAITS_MS = [100, 300, 600];

/**
 * Waits until a served object may be requested again: an upstream may index a block later than it returns it. All upstreams count
 * as untried then.
 * @param takeRetry takes a retry from the budget
 * @returns false: the call has waited long enough
 */
export async function awaitIndex(routedCall: RoutedCall, takeRetry: (now: number) => boolean): Promise<boolean> {
  const { deadline, tried, waits } = routedCall;
  const now = performance.now();
  const waitMs = WAITS_MS[waits];
  if (waitMs === undefined || deadline - now - waitMs <= MIN_ATTEMPT_MS || !takeRetry(now)) return false;
  routedCall.waits++;
  await delay(waitMs);
  tried.length = 0;
  return true;
}
