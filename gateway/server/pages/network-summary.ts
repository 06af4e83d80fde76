import type { NetworkActivity } from '../../metrics/network-history.ts';
import type { NetworkStatus, UpstreamStatus } from '../../upstreams/upstream-status.ts';

/** What the overview shows of an upstream. Facts that an upstream without trouble does not have are left out. */
interface UpstreamSummary extends Pick<UpstreamStatus, 'name' | 'state'> {
  readonly trouble?: UpstreamStatus['trouble'];
  readonly slow?: string | undefined;
  readonly skipReason?: UpstreamStatus['skipReason'];
  readonly lag?: number | undefined;
  /** Number of audits whose results differ from those of others. */
  readonly differences?: number;
  /** Number of methods that are sent to other upstreams first. */
  readonly marks?: number;
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

function upstreamSummary({
  name,
  state,
  trouble,
  slow,
  skipReason,
  lag,
  audits,
  marks,
}: UpstreamStatus): UpstreamSummary {
  // JSON has no undefined members.
  return {
    ...{ name, state, trouble, slow, skipReason },
    ...(lag !== undefined && lag > 0 && { lag }),
    ...(audits !== undefined && audits.differs > 0 && { differences: audits.differs }),
    ...(marks.length > 0 && { marks: marks.length }),
  };
}
