import type { Slice } from '../metrics/upstream-history.ts';
import type { MarkReason } from './methods-lacked.ts';
import type { Upstream } from './upstream.ts';

/** What an upstream knows of itself, for people. Nothing in it is secret. */
export interface UpstreamState {
  readonly name: string;
  /** `unused`: nothing was asked of it yet. `failing`: so it did when it was last asked. */
  readonly state: 'up' | 'unused' | 'failing' | 'other-chain';
  /** Of the last minutes, oldest first. */
  readonly history: readonly Slice[];
  /** Methods for which others are asked first. */
  readonly marks: readonly MarkState[];
}

export interface MarkState {
  readonly method: string;
  readonly reason: MarkReason;
  /** Seconds until it is asked again as before. */
  readonly forS: number;
}

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
export interface HeadsSeen {
  readonly number: bigint | undefined;
  lookOf(upstream: Upstream): { readonly number: bigint; readonly at: number } | undefined;
  lagOf(upstream: Upstream): number;
}

/** For probes: how many upstreams there are, and how many answered when last asked. */
export function summaryOf(all: readonly Upstream[]): { upstreams: number; up: number } {
  return { upstreams: all.length, up: all.filter(({ health }) => health.isUp).length };
}

/** @param hasReplied to anything, ever */
export function stateOf(
  { name, health, isOfOtherChain, methods }: Pick<Upstream, 'name' | 'health' | 'isOfOtherChain' | 'methods'>,
  hasReplied: boolean,
  history: readonly Slice[],
  now: number,
): UpstreamState {
  const isFailing = !health.isUp || (!hasReplied && history.some(({ asked }) => asked > 0));
  return {
    name,
    state: isOfOtherChain ? 'other-chain' : isFailing ? 'failing' : hasReplied ? 'up' : 'unused',
    history,
    marks: methods.marks().map(({ method, reason, until }) => {
      return { method, reason, forS: Math.max(0, Math.round((until - now) / 1000)) };
    }),
  };
}

/** @param now on the clock of performance.now() */
export function networkStatus(all: readonly Upstream[], heads: HeadsSeen, now: number): NetworkStatus {
  const upstreams = all.map((upstream): UpstreamStatus => {
    const look = heads.lookOf(upstream);
    return {
      ...upstream.status(now),
      head: look === undefined ? undefined : Number(look.number),
      headSeenS: look === undefined ? undefined : Math.round((now - look.at) / 1000),
      lag: look === undefined ? undefined : heads.lagOf(upstream),
    };
  });
  const head = heads.number === undefined ? undefined : Number(heads.number);
  const seen = upstreams.filter((one) => one.head === head).map(({ headSeenS }) => headSeenS ?? 0);
  return { head, headSeenS: head === undefined || seen.length === 0 ? undefined : Math.min(...seen), upstreams };
}
