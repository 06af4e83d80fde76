import type { Slice } from '../metrics/upstream-history.ts';
import type { Upstream } from './upstream.ts';

/** What is known of an upstream, for people. Nothing in it is secret. */
export interface UpstreamStatus {
  readonly name: string;
  /** `unused`: nothing was asked of it yet. `failing`: so it did when it was last asked. */
  readonly state: 'up' | 'unused' | 'failing' | 'other-chain';
  /** Of the newest block seen at it; undefined where none was. */
  readonly head: number | undefined;
  /** Seconds since that was looked at. */
  readonly headSeenS: number | undefined;
  /** Blocks behind the newest that any upstream of the network has. */
  readonly lag: number | undefined;
  /** Of the last minutes, oldest first. */
  readonly history: readonly Slice[];
}

/** What is known of a network's upstreams, best first. */
export interface NetworkStatus {
  readonly head: number | undefined;
  readonly headSeenS: number | undefined;
  readonly upstreams: readonly UpstreamStatus[];
}

/** @param hasReplied to anything, ever */
export function statusOf(
  { name, head, health, isOfOtherChain }: Pick<Upstream, 'name' | 'head' | 'health' | 'isOfOtherChain'>,
  hasReplied: boolean,
  history: readonly Slice[],
  now: number,
): Omit<UpstreamStatus, 'lag'> {
  const isFailing = !health.isUp || (!hasReplied && history.some(({ asked }) => asked > 0));
  return {
    name,
    state: isOfOtherChain ? 'other-chain' : isFailing ? 'failing' : hasReplied ? 'up' : 'unused',
    head: head === undefined ? undefined : Number(head.number),
    headSeenS: head === undefined ? undefined : Math.round((now - head.at) / 1000),
    history,
  };
}

/** Adds what shows only beside the others. */
export function compareUpstreams(upstreams: readonly Omit<UpstreamStatus, 'lag'>[]): NetworkStatus {
  const [newest] = upstreams
    .filter(({ state }) => state !== 'other-chain')
    .toSorted((a, b) => (b.head ?? -1) - (a.head ?? -1));
  const lagOf = ({ head }: { head: number | undefined }): number | undefined =>
    head === undefined || newest?.head === undefined ? undefined : Math.max(0, newest.head - head);
  return {
    head: newest?.head,
    headSeenS: newest?.headSeenS,
    upstreams: upstreams.map((upstream) => ({ ...upstream, lag: lagOf(upstream) })),
  };
}
