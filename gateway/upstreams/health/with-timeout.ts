import { clock, MAX_TIMER_MS, type Timer } from '../../clock/clock.ts';
import { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import {
  callerTimeout,
  MIN_COUNTED_TIMEOUT_MS,
  TimedOut,
  type UpstreamFailure,
} from '../transport/upstream-response.ts';

/**
 * Waits for a promise at most `timeoutMs`. The work behind the promise continues, because others may wait for it.
 * @throws the error from `makeError` after `timeoutMs`
 */
export async function withTimeout<T>(promise: Promise<T>, timeoutMs: number, makeError: () => Error): Promise<T> {
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = clock.setTimeout(
      () => {
        reject(makeError());
      },
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clock.clearTimeout(timer);
  }
}

/** Steps of the work for a call, which waits for its turns up to its deadline. */
export function stepsUntil(deadline: number, owner: string): OwnedSteps {
  return new OwnedSteps(owner, turnBudget, (turn) => withTimeout(turn, deadline - clock.now(), callerTimeout));
}

/** Whether a call ended because its caller had less time than the upstream, or because it was not sent. */
export function isCallerTimeout(error: UpstreamFailure, timeLimitMs: number, timeoutMs: number): boolean {
  if (error.isCallerTimeout) return true;
  return error instanceof TimedOut && timeLimitMs < Math.min(timeoutMs, MIN_COUNTED_TIMEOUT_MS);
}
