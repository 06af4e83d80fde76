import { methodGroups } from '../spec/method-spec.ts';
import type { Upstream } from './upstream.ts';

/** Slower than this, and by this factor slower than the fastest upstream of the network. */
const MIN_SLOW_MS = 200;
const SLOW_FACTOR = 5;
/** Slow without another upstream to compare with. */
const MIN_SLOW_ALONE_MS = 2_000;
/** So long after the last hedged request that responded first, an upstream is shown as hedged away. */
const HEDGED_AWAY_MS = 60_000;

export type ComparedUpstream = Pick<Upstream, 'latencyScore' | 'pollMs' | 'drain'> & {
  readonly health: Pick<Upstream['health'], 'overtakenAt'>;
  readonly circuit: Pick<Upstream['circuit'], 'isClosed'>;
};

/**
 * The upstreams that are clearly slower than others, for methods of one group or for polls, with the reason in words. Calls
 * that are hedged away do not show how slow an upstream is, because their attempts are cancelled. Polls do.
 */
export function slowUpstreams<U extends ComparedUpstream>(all: readonly U[], now: number): ReadonlyMap<U, string> {
  const slow = new Map<U, string>();
  const compare = (msOf: (upstream: U) => number | undefined): void => {
    const working = all.filter(({ circuit, drain }) => circuit.isClosed && drain === undefined);
    for (const upstream of all) {
      const ms = msOf(upstream);
      if (ms === undefined || ms < MIN_SLOW_MS) continue;
      const others = working.flatMap((other) => (other === upstream ? [] : (msOf(other) ?? [])));
      const fastestMs = Math.min(...others);
      if (others.length === 0 ? ms < MIN_SLOW_ALONE_MS : ms < SLOW_FACTOR * fastestMs) continue;
      const compared = others.length === 0 ? '' : `, the fastest upstream ${inMs(fastestMs)}`;
      const isHedgedAway = now - upstream.health.overtakenAt < HEDGED_AWAY_MS;
      slow.set(upstream, `slow: ${inMs(ms)}${isHedgedAway ? ', hedged away' : compared}`);
    }
  };
  for (const group of methodGroups) compare(({ latencyScore }) => latencyScore.score(group, now));
  compare(({ pollMs }) => pollMs);
  return slow;
}

function inMs(ms: number): string {
  return `${Math.round(ms).toLocaleString('en-US')} ms`;
}
