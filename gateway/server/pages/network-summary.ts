import type { NetworkActivity } from '../../metrics/network-history.ts';
import type { NetworkStatus, UpstreamStatus } from '../../upstreams/upstream-status.ts';

/** What the overview shows of an upstream. */
interface UpstreamSummary extends Pick<UpstreamStatus, 'name' | 'state' | 'reason'> {
  /** Seconds since the circuit opened; undefined: it is closed. */
  readonly forS: number | undefined;
}

/** A row of the overview: 200 of them are less than 60 kB. */
export interface NetworkSummary {
  readonly slug: string;
  readonly name: string;
  readonly chainId: number;
  readonly head: number | undefined;
  readonly headSeenS: number | undefined;
  readonly activity: NetworkActivity | undefined;
  readonly upstreams: readonly UpstreamSummary[];
}

export function networkSummary(
  { slug, name, chainId }: Pick<NetworkSummary, 'slug' | 'name' | 'chainId'>,
  activity: NetworkActivity | undefined,
  { head, headSeenS, upstreams }: NetworkStatus,
): NetworkSummary {
  return { slug, name, chainId, head, headSeenS, activity, upstreams: upstreams.map(upstreamSummary) };
}

function upstreamSummary({ name, state, reason, trouble }: UpstreamStatus): UpstreamSummary {
  return { name, state, reason, forS: trouble?.forS };
}
