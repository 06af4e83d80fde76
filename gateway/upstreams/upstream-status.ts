import type { Upstream } from './upstream.ts';
import type { UpstreamState } from './upstream-state.ts';

export interface UpstreamStatus extends UpstreamState {
  /** Of the newest block seen at it; undefined where none was. */
  readonly head: number | undefined;
  /** Seconds since that was looked at. */
  readonly headSeenS: number | undefined;
  /** Blocks behind the network's head; undefined where it has none. */
  readonly lag: number | undefined;
}

/** What is known of a network's upstreams, best first. */
export interface NetworkStatus {
  /** What they agree on, and how long ago the last of them was seen to have it. */
  readonly head: number | undefined;
  readonly headSeenS: number | undefined;
  readonly upstreams: readonly UpstreamStatus[];
}

/** What was seen of heads; made elsewhere (`heads/`). */
export interface ObservedHeads {
  readonly number: bigint | undefined;
  headOf(upstream: Upstream): { readonly number: bigint; readonly at: number } | undefined;
  lagOf(upstream: Upstream): number;
}

/** For probes: how many upstreams there are, and how many answered when last asked. */
export function summariseUpstreams(all: readonly Upstream[]): { upstreams: number; up: number } {
  return { upstreams: all.length, up: all.filter(({ circuit }) => circuit.isClosed).length };
}

/** @param now on the clock of performance.now() */
export function networkStatus(all: readonly Upstream[], heads: ObservedHeads, now: number): NetworkStatus {
  const upstreams = all.map((upstream): UpstreamStatus => {
    const polled = heads.headOf(upstream);
    return {
      ...upstream.status(now),
      head: polled === undefined ? undefined : Number(polled.number),
      headSeenS: polled === undefined ? undefined : Math.round((now - polled.at) / 1000),
      lag: polled === undefined ? undefined : heads.lagOf(upstream),
    };
  });
  const head = heads.number === undefined ? undefined : Number(heads.number);
  const ages = upstreams.filter((one) => one.head === head).map(({ headSeenS }) => headSeenS ?? 0);
  return { head, headSeenS: head === undefined || ages.length === 0 ? undefined : Math.min(...ages), upstreams };
}
