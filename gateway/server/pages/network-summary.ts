import { clock } from '../../clock/clock.ts';
import type { NetworkActivity } from '../../metrics/history.ts';
import type { NetworkStatus, UpstreamStatus } from '../../upstreams/upstream-status.ts';

/** Upstream, as the table of networks has it. */
interface UpstreamSummary extends Pick<UpstreamStatus, 'name' | 'state' | 'reason' | 'isWorking'> {
  /** Seconds since it was drained, or since the circuit opened; undefined: neither. */
  readonly forS: number | undefined;
  /** Why it gets fewer calls, which is no trouble; undefined: it does not. */
  readonly note: string | undefined;
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

function upstreamSummary(upstream: UpstreamStatus): UpstreamSummary {
  const { name, state, reason, isWorking, drain, trouble } = upstream;
  const forS = drain === undefined ? trouble?.forS : Math.round((clock.unixMs() - Date.parse(drain.at)) / 1000);
  return { name, state, reason, isWorking, forS, note: reason === undefined ? noteOf(upstream) : undefined };
}

/** Limits and marks come and go while an upstream works: they change no state. */
function noteOf({ skipReason, marks }: UpstreamStatus): string | undefined {
  if (skipReason === 'at-limit') return 'its limits are used up';
  const [first] = marks;
  if (first === undefined) return undefined;
  const methods = marks.length === 1 ? first.method : `${marks.length} methods`;
  return `${methods} at other upstreams first`;
}
