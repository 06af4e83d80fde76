import { clock } from '../../clock/clock.ts';
import type { MethodSpec } from '../../spec/method-spec.ts';
import { mayNameTag } from '../../upstreams/available-blocks.ts';
import type { Upstream } from '../../upstreams/upstream.ts';
import type { Call } from '../call.ts';
import { untilDeadline } from '../in-time.ts';
import type { Router } from '../router.ts';
import type { Rule } from './rule.ts';

/** Upstreams that are behind, or may be, are polled before a call for a tag is sent to one that is preferred less. */
export function catchingUp(method: MethodSpec, router: Router): Rule<Call> | undefined {
  if (router.isAlone || !mayNameTag(method)) return undefined;
  return {
    select: (call) => {
      const poll = catchUp(call, clock.now());
      return poll && untilDeadline(call, poll);
    },
  };
}

/**
 * Waits, for a call for a tag at a start, for the first polls of all upstreams. Then polls upstreams that are behind, or may be
 * after a failure, and would be selected before the first one at the head. One whose circuit is not closed is polled if there is
 * no other.
 * @returns resolves when it is known whether one of them is at the head; undefined: the call does not wait
 */
function catchUp({ router, method, blocks, tried, candidates }: Call, now: number): Promise<void> | undefined {
  const { chain, ranking } = router;
  if (blocks?.tag === undefined) return undefined;
  const started = chain.whenStarted(now);
  if (started !== undefined) return started;
  let recovering: Upstream | undefined;
  for (const upstream of ranking.order(method.group, now)) {
    if (tried.includes(upstream) || candidates?.includes(upstream) === false || upstream.drain !== undefined) continue;
    const { circuit, isHeadUncertain } = upstream;
    if (circuit.isClosed) {
      if (!isHeadUncertain && !chain.view.isBehind(upstream)) return undefined;
      const poll = chain.catchUp(upstream, now);
      if (poll !== undefined) return poll;
    } else if (isHeadUncertain && circuit.isCooldownOver(now)) recovering ??= upstream;
  }
  return recovering && chain.catchUp(recovering, now);
}
