import { clock } from '../../clock/clock.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import type { Call } from '../call.ts';
import type { Router } from '../router.ts';
import type { Rule } from './rule.ts';

/** A worker requests more of the `limits` of upstreams before a call skips them because of these. */
export function upstreamCapacity(_: MethodSpec, { all }: Router): Rule<Call> | undefined {
  return all.some(({ limits }) => limits !== undefined) ? { select: (call) => moreCapacity(call, false) } : undefined;
}

/**
 * Requests, with several workers, what other workers do not use of the `limits` of upstreams that would be selected before the
 * first one with capacity.
 * @param isAtOnce the call is sent to all upstreams
 * @returns resolves when there is no more to get; undefined: the call does not wait
 */
export function moreCapacity(call: Call, isAtOnce: boolean): Promise<void> | undefined {
  const now = clock.now();
  if (call.router.all.every(({ limits }) => limits?.hasCapacity(now) !== false)) return undefined;
  const granted = requestCapacity(call, now, isAtOnce);
  return granted && whenGranted(call, granted, isAtOnce);
}

/** Other calls that wait may take the slots first. */
async function whenGranted(call: Call, first: Promise<void>, isAtOnce: boolean): Promise<void> {
  let granted: Promise<void> | undefined = first;
  while (granted !== undefined) {
    await granted;
    const now = clock.now();
    granted = now < call.deadline ? requestCapacity(call, now, isAtOnce) : undefined;
  }
}

function requestCapacity(call: Call, now: number, isAtOnce: boolean): Promise<void> | undefined {
  const { router, method, tried, candidates } = call;
  for (const upstream of router.ranking.order(method.group, now)) {
    const { limits, circuit, drain } = upstream;
    if (tried.includes(upstream) || candidates?.includes(upstream) === false) continue;
    if (drain !== undefined || !circuit.isClosed) continue;
    const granted = limits?.moreCapacity(now);
    if (granted !== undefined) return granted;
    if (!isAtOnce && limits?.hasCapacity(now) !== false) return undefined;
  }
  return undefined;
}
