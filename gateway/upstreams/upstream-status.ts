import { clock } from '../clock/clock.ts';
import type { AuditOutcome } from '../metrics/audit-metrics.ts';
import { describeTrouble } from './health/upstream-health.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { Upstream } from './upstream.ts';
import type { ShownNetwork, UpstreamCondition, UpstreamConditionMap } from './upstream-conditions.ts';
import type { UpstreamState } from './upstream-state.ts';

export interface UpstreamStatus extends UpstreamState, UpstreamCondition {
  /** Number of the newest block that the upstream returned; undefined if there is none. */
  readonly head: number | undefined;
  /** Seconds since that head was polled. */
  readonly headSeenS: number | undefined;
  /** Blocks behind the network's head; undefined without a head. */
  readonly lag: number | undefined;
  /** Why a read at `latest` would skip it now; undefined: it would not. */
  readonly skipReason: SkipReason | undefined;
  /** Outcomes of its audits since the start of the gateway; undefined: there were none. */
  readonly audits: Readonly<Record<AuditOutcome, number>> | undefined;
}

/** Status of a network and of its upstreams, by priority. */
export interface NetworkStatus {
  /** The agreed head, and seconds since an upstream last returned it. */
  readonly head: number | undefined;
  readonly headSeenS: number | undefined;
  readonly upstreams: readonly UpstreamStatus[];
}

/** Summary of a network's upstreams for readiness probes. */
export interface UpstreamSummary {
  readonly upstreams: number;
  /** Number of those that get calls: neither failing, paused nor drained. */
  readonly up: number;
  /** Names of those of `up` that have neither responded nor failed yet; absent: none. */
  readonly unused?: readonly string[];
  /** Names of drained upstreams; absent: none. */
  readonly drained?: readonly string[];
  /** Reasons why the other upstreams get no calls, by name. */
  readonly failing: Readonly<Record<string, string>>;
  /** Trouble of the upstreams that are up, by name; absent: none. */
  readonly degraded?: Readonly<Record<string, string>>;
}

/** @param now by clock.now() */
export function summariseUpstreams(conditions: UpstreamConditionMap, now = clock.now()): UpstreamSummary {
  const [unused, drained]: [string[], string[]] = [[], []];
  const failing: Record<string, string> = {};
  const degraded: Record<string, string> = {};
  for (const [{ name, health }, { state, reason, isWorking }] of conditions) {
    if (state === 'unused') unused.push(name);
    if (reason === undefined) continue;
    const trouble = health.trouble(now);
    if (state === 'drained') drained.push(name);
    else if (isWorking) degraded[name] = reason;
    else failing[name] = trouble === undefined ? reason : describeTrouble(trouble);
  }
  return {
    upstreams: conditions.size,
    up: conditions.size - Object.keys(failing).length - drained.length,
    ...(unused.length > 0 && { unused }),
    ...(drained.length > 0 && { drained }),
    failing,
    ...(Object.keys(degraded).length > 0 && { degraded }),
  };
}

/** @param now by clock.now() */
export function networkStatus(
  { chain: { view }, auditsOf }: ShownNetwork,
  conditions: UpstreamConditionMap,
  skipReasons: ReadonlyMap<Upstream, SkipReason>,
  now: number,
): NetworkStatus {
  const upstreams = [...conditions].map(([upstream, condition]): UpstreamStatus => {
    const polled = view.headOf(upstream);
    return {
      ...upstream.status(now),
      ...condition,
      head: polled === undefined ? undefined : Number(polled.number),
      headSeenS: polled === undefined ? undefined : Math.round((now - polled.at) / 1000),
      lag: polled === undefined ? undefined : view.lagOf(upstream, now),
      skipReason: skipReasons.get(upstream),
      audits: auditsOf(upstream.name)?.outcomes,
    };
  });
  const head = view.number === undefined ? undefined : Number(view.number);
  const ages = upstreams.filter((one) => one.head === head).map(({ headSeenS }) => headSeenS ?? 0);
  return { head, headSeenS: head === undefined || ages.length === 0 ? undefined : Math.min(...ages), upstreams };
}
