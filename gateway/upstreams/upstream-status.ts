import type { ChainView } from '../chain/view.ts';
import { clock } from '../clock/clock.ts';
import type { Drain } from '../drains/drains.ts';
import type { AuditOutcome } from '../metrics/series.ts';
import type { Availability, HistoryBucket } from '../metrics/history.ts';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import { methodGroups } from '../spec/method-spec.ts';
import { describeTrouble, type UpstreamTrouble } from './health/upstream-health.ts';
import type { WithoutBatches } from './transport/transport.ts';
import type { MarkReason } from './unsupported-methods.ts';
import type { Upstream } from './upstream.ts';

/**
 * `unused`: no response and no failure yet. `failing`: the circuit is not closed, or calls failed without any response.
 * `paused`: it requested a pause with `Retry-After`. `other-branch`: it has other blocks than the network. `behind`: by more
 * blocks than the network allows. `differs`: audits found other results.
 */
export type UpstreamConditionState =
  'up' | 'unused' | 'failing' | 'other-chain' | 'drained' | 'paused' | 'slow' | 'other-branch' | 'behind' | 'differs';

/** Condition of an upstream, as pages, probes, commands and the list of events show it. */
export interface UpstreamCondition {
  readonly state: UpstreamConditionState;
  /** Why it is not as it should be, in words, without secrets; undefined: there is no trouble. */
  readonly reason: string | undefined;
  /** Whether it gets calls, as far as is known. */
  readonly isWorking: boolean;
}

/** Conditions by upstream, in the order of the router. */
export type UpstreamConditionMap = ReadonlyMap<Upstream, UpstreamCondition>;

/** A network, of which the upstreams are shown. */
export interface ShownNetwork {
  readonly config: { readonly slug: string };
  readonly router: {
    readonly all: readonly Upstream[];
    readonly options: { readonly maxLagBlocks: number | undefined };
  };
  readonly chain: { readonly view: ChainView<Upstream> };
}

/** Facts of an upstream for the status page. Contains no secrets. */
export interface UpstreamStatus extends UpstreamCondition {
  readonly name: string;
  /** Start and end of the drain; undefined: the upstream is not drained. */
  readonly drain: Pick<Drain, 'at' | 'until'> | undefined;
  /** Why and since when the circuit is open; undefined: it is closed. */
  readonly trouble: UpstreamTrouble | undefined;
  /** Seconds since the upstream last worked; undefined: not since the gateway started. */
  readonly workedS: number | undefined;
  /** Buckets of the last minutes, oldest first. */
  readonly history: readonly HistoryBucket[];
  /** Availability in the last 24 hours; undefined: not used yet. */
  readonly availability: Availability | undefined;
  /** The calls that may be in progress there, if refusals or slow calls have lowered that. */
  readonly concurrencyLimit: number | undefined;
  /** Why the calls of client batches are sent singly. */
  readonly withoutBatches: WithoutBatches | undefined;
  /** Methods for which other upstreams are selected first, and the seconds until each mark expires. */
  readonly marks: readonly { readonly method: string; readonly reason: MarkReason; readonly forS: number }[];
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

/** Comparing the latencies of all upstreams takes milliseconds, so each second does it for this number of networks. */
const COMPARED_NETWORKS = 20;
/** Latency of a slow upstream, and its factor to that of the fastest upstream of the network: it is above both. */
const MIN_SLOW_MS = 200;
const SLOW_FACTOR = 5;
/** Latency of a slow upstream without another one to compare with. */
const MIN_SLOW_ALONE_MS = 2_000;
/** Time after the last hedged request that responded first for which an upstream is shown as hedged away. */
const HEDGED_AWAY_MS = 60_000;
/** An upstream whose audits found a difference is shown for this time. */
const SHOWN_DIFFERENCE_MS = 3_600_000;
/** Conditions are made at most once in this time: anybody may request /readyz and the status, as often as they want. */
const MAX_AGE_MS = 1_000;

const withoutCalls: ReadonlySet<UpstreamConditionState> = new Set(['failing', 'other-chain', 'drained', 'paused']);

/** The only place where the state of an upstream and the reason of its trouble are made. */
export class UpstreamConditions {
  readonly #slow = new WeakMap<ShownNetwork, ReadonlyMap<Upstream, string>>();
  readonly #made = new WeakMap<ShownNetwork, { at: number; signs: string; conditions: UpstreamConditionMap }>();
  #compared = 0;

  /** Compares latencies. To be called once a second. */
  compare(networks: readonly ShownNetwork[], now: number): void {
    for (let count = Math.min(COMPARED_NETWORKS, networks.length); count > 0; count--) {
      const network = networks[this.#compared++ % networks.length];
      if (network !== undefined) this.#slow.set(network, slowUpstreams(network.router.all, now));
    }
  }

  /** Conditions of a network, at most 1 s old, and not older than a change of a circuit or a drain. @param now by clock.now() */
  of(network: ShownNetwork, now = clock.now()): UpstreamConditionMap {
    const made = this.#made.get(network);
    // Signs that are shown at once.
    const signs = network.router.all.map(({ circuit, drain }) => `${circuit.isClosed} ${drain === undefined}`).join();
    if (made !== undefined && now - made.at < MAX_AGE_MS && made.signs === signs) return made.conditions;
    const slow = this.#slow.get(network);
    const conditions = new Map(
      network.router.all.map((upstream) => {
        const [state, reason] = conditionOf(upstream, network, slow?.get(upstream), now);
        return [upstream, { state, reason, isWorking: !withoutCalls.has(state) }];
      }),
    );
    this.#made.set(network, { at: now, signs, conditions });
    return conditions;
  }
}

/** The worst trouble of an upstream, or none. @param slowness in words */
export function conditionOf(
  upstream: Upstream,
  network: ShownNetwork,
  slowness: string | undefined,
  now: number,
): [UpstreamConditionState, reason?: string] {
  const { health, circuit } = upstream;
  const { view } = network.chain;
  // Another worker may have polled it.
  const respondedAt = Math.max(upstream.respondedAt, view.headOf(upstream)?.at ?? -Infinity);
  const reason = health.trouble(now)?.reason;
  if (upstream.drain !== undefined) return ['drained', 'an operator has drained it'];
  if (upstream.isOnOtherChain) return ['other-chain', reason ?? 'it serves another chain'];
  // Its circuit is open meanwhile.
  if (circuit.pauseMs(now) !== undefined) return ['paused', reason ?? 'it requested a pause'];
  // It responds to polls, so its circuit opens and closes again and again.
  if (health.isOnlyOvertaken && slowness !== undefined) return ['slow', slowness];
  if (health.isOvertaken(respondedAt)) return ['slow', 'hedged requests to other upstreams respond first'];
  const hasResponded = respondedAt !== -Infinity;
  if (!circuit.isClosed || (!hasResponded && upstream.hasFailed)) return ['failing', reason ?? 'no response yet'];
  const mark = view.markOf(upstream);
  if (mark !== undefined)
    return ['other-branch', `on another branch: it has other blocks than the network from ${mark.number}`];
  const lag = network.router.all.length > 1 && view.headOf(upstream) !== undefined ? view.lagOf(upstream, now) : 0;
  if (lag > (network.router.options.maxLagBlocks ?? view.maxLag)) return ['behind', `${lag} blocks behind`];
  if (slowness !== undefined) return ['slow', slowness];
  const { difference } = upstream;
  if (difference === undefined || now - difference.at > SHOWN_DIFFERENCE_MS) return [hasResponded ? 'up' : 'unused'];
  const minutes = Math.floor((now - difference.at) / 60_000);
  const found =
    difference.from === undefined
      ? 'audits found other results'
      : `audits: differs from ${difference.from}, no third decides`;
  return ['differs', `${found}, last ${minutes === 0 ? 'now' : `${minutes} min ago`}`];
}

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
  { chain: { view } }: ShownNetwork,
  conditions: UpstreamConditionMap,
  skipReasons: ReadonlyMap<Upstream, SkipReason>,
  now: number,
): NetworkStatus {
  const secondsSince = (at: number): number => Math.round((now - at) / 1000);
  const upstreams = [...conditions].map(([upstream, condition]): UpstreamStatus => {
    const { name, drain, respondedAt, concurrency } = upstream;
    const polled = view.headOf(upstream);
    const trouble = upstream.health.trouble(now);
    const history = upstream.metrics.history();
    return {
      ...{ name, ...condition, trouble },
      // The page may be public: it does not name the operator.
      drain: drain && { at: drain.at, ...(drain.until !== undefined && { until: drain.until }) },
      // Responses that made the circuit open are no sign that it works.
      workedS: respondedAt === -Infinity ? undefined : Math.max(secondsSince(respondedAt), trouble?.forS ?? 0),
      // Most of the bytes of the status.
      history: history.some(({ sent, failed }) => sent + failed > 0) ? history : [],
      availability: upstream.metrics.availability(),
      concurrencyLimit: concurrency.isLowered ? concurrency.limit : undefined,
      withoutBatches: upstream.withoutBatches,
      marks: upstream.methods.marks().map(({ method, reason, deadline }) => {
        return { method, reason, forS: Math.max(0, -secondsSince(deadline)) };
      }),
      head: polled === undefined ? undefined : Number(polled.number),
      headSeenS: polled === undefined ? undefined : secondsSince(polled.at),
      lag: polled === undefined ? undefined : view.lagOf(upstream, now),
      skipReason: skipReasons.get(upstream),
      audits: upstream.audits,
    };
  });
  const head = view.number === undefined ? undefined : Number(view.number);
  const ages = upstreams.filter((one) => one.head === head).map(({ headSeenS }) => headSeenS ?? 0);
  return { head, headSeenS: head === undefined || ages.length === 0 ? undefined : Math.min(...ages), upstreams };
}
