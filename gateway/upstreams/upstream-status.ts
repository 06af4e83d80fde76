import { clock } from '../clock/clock.ts';
import type { ChainView } from '../chain/view.ts';
import type { AuditCounts } from '../metrics/audit-metrics.ts';
import { describeTrouble } from './health/upstream-health.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import { slowUpstreams } from './slow-upstreams.ts';
import type { Upstream } from './upstream.ts';
import type { UpstreamState } from './upstream-state.ts';

export interface UpstreamStatus extends Omit<UpstreamState, 'state'> {
  /** `slow`: it works, and is clearly slower than the others. */
  readonly state: UpstreamState['state'] | 'slow';
  /** How slow it is, in words. */
  readonly slow: string | undefined;
  /** Number of the newest block that the upstream returned; undefined if there is none. */
  readonly head: number | undefined;
  /** Seconds since that head was polled. */
  readonly headSeenS: number | undefined;
  /** Blocks behind the network's head; undefined without a head. */
  readonly lag: number | undefined;
  /** Why a read at `latest` would skip it now; undefined: it would not. */
  readonly skipReason: SkipReason | undefined;
  /** Outcomes of its audits since the start of the gateway; undefined: there were none. */
  readonly audits: AuditCounts | undefined;
}

/** Status of a network and of its upstreams, by priority. */
export interface NetworkStatus {
  /** The agreed head, and seconds since an upstream last returned it. */
  readonly head: number | undefined;
  readonly headSeenS: number | undefined;
  readonly upstreams: readonly UpstreamStatus[];
}

/** For readiness probes. */
export interface UpstreamSummary {
  readonly upstreams: number;
  /** Number of those whose circuit is closed, and that are not drained. */
  readonly up: number;
  /** Names of drained upstreams; absent: none. */
  readonly drained?: readonly string[];
  /** Of the others: why their circuits are open, by name. */
  readonly failing: Readonly<Record<string, string>>;
}

export function summariseUpstreams(all: readonly Upstream[]): UpstreamSummary {
  const now = clock.now();
  const drained = all.flatMap(({ name, drain }) => (drain === undefined ? [] : [name]));
  const failing = all.flatMap(({ name, health, drain }) => {
    const trouble = drain === undefined ? health.trouble(now) : undefined;
    return trouble === undefined ? [] : [[name, describeTrouble(trouble)] as const];
  });
  const up = all.length - failing.length - drained.length;
  return { upstreams: all.length, up, ...(drained.length > 0 && { drained }), failing: Object.fromEntries(failing) };
}

/** @param now by clock.now() @param auditsOf the audits of an upstream by its name */
export function networkStatus(
  all: readonly Upstream[],
  view: ChainView<Upstream>,
  skipReasons: ReadonlyMap<Upstream, SkipReason>,
  now: number,
  auditsOf?: (upstream: string) => AuditCounts | undefined,
): NetworkStatus {
  const slowness = slowUpstreams(all, now);
  const upstreams = all.map((upstream): UpstreamStatus => {
    const polled = view.headOf(upstream);
    const status = upstream.status(now);
    const slow = status.state === 'up' ? slowness.get(upstream) : undefined;
    return {
      ...status,
      ...{ state: slow === undefined ? status.state : 'slow', slow },
      head: polled === undefined ? undefined : Number(polled.number),
      headSeenS: polled === undefined ? undefined : Math.round((now - polled.at) / 1000),
      lag: polled === undefined ? undefined : view.lagOf(upstream, now),
      skipReason: skipReasons.get(upstream),
      audits: auditsOf?.(upstream.name),
    };
  });
  const head = view.number === undefined ? undefined : Number(view.number);
  const ages = upstreams.filter((one) => one.head === head).map(({ headSeenS }) => headSeenS ?? 0);
  return { head, headSeenS: head === undefined || ages.length === 0 ? undefined : Math.min(...ages), upstreams };
}

/** The blocks that upstreams are behind, by `network upstream`; of those whose heads are known. */
export function upstreamLags(
  networks: readonly {
    readonly config: { readonly slug: string };
    readonly router: { readonly all: readonly Upstream[] };
    readonly chain: { readonly view: ChainView<Upstream> };
  }[],
): ReadonlyMap<string, number> {
  const now = clock.now();
  const lags = new Map<string, number>();
  for (const { config, router, chain } of networks) {
    for (const upstream of router.all) {
      if (chain.view.headOf(upstream) === undefined) continue;
      lags.set(`${config.slug} ${upstream.name}`, chain.view.lagOf(upstream, now));
    }
  }
  return lags;
}
