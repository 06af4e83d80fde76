import { methodGroups } from '../spec/method-spec.ts';
import type { Upstream } from './upstream.ts';

/** Slower than this, and by this factor slower than the fastest upstream of the network. */
const MIN_SLOW_MS = 200;
const SLOW_FACTOR = 5;
/** Slow without another upstream to compare with. */
const MIN_SLOW_ALONE_MS = 2_000;

/** The upstreams that are clearly slower than others, for methods of one group, with the reason in words. */
export function slowUpstreams(
  all: readonly Pick<Upstream, 'latencyScore'>[],
  now: number,
): ReadonlyMap<Pick<Upstream, 'latencyScore'>, string> {
  const slow = new Map<Pick<Upstream, 'latencyScore'>, string>();
  for (const group of methodGroups) {
    const scores = all.map((upstream) => ({ upstream, ms: upstream.latencyScore.score(group, now) }));
    for (const { upstream, ms } of scores) {
      if (ms === undefined || ms < MIN_SLOW_MS) continue;
      const others = scores.flatMap((other) => (other.upstream === upstream ? [] : (other.ms ?? [])));
      const fastestMs = Math.min(...others);
      if (others.length === 0 ? ms < MIN_SLOW_ALONE_MS : ms < SLOW_FACTOR * fastestMs) continue;
      const compared = others.length === 0 ? '' : `, the fastest upstream ${Math.round(fastestMs)} ms`;
      slow.set(upstream, `slow: ${Math.round(ms)} ms${compared}`);
    }
  }
  return slow;
}
