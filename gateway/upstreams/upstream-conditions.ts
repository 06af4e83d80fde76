import { clock } from '../clock/clock.ts';
import type { ChainView } from '../chain/view.ts';
import type { AuditCounts } from '../metrics/audit-metrics.ts';
import { slowUpstreams } from './slow-upstreams.ts';
import type { Upstream } from './upstream.ts';
import type { ConnectionState } from './upstream-state.ts';

/**
 * `behind`: by more blocks than the network allows. `other-branch`: it has other blocks than the network. `paused`: it requested a
 * pause with `Retry-After`. `differs`: audits found other results.
 */
export type UpstreamConditionState =
  Exclude<ConnectionState, 'overtaken'> | 'behind' | 'other-branch' | 'paused' | 'slow' | 'differs';

/** Condition of an upstream, as pages, probes, commands and the list of events show it. */
export interface UpstreamCondition {
  readonly state: UpstreamConditionState;
  /** Why it is not as it should be, in words, without secrets; undefined: there is no trouble. */
  readonly reason: string | undefined;
  /** Whether it gets calls, as far as is known. */
  readonly isWorking: boolean;
}

/** A network, of which the upstreams are shown. */
export interface ShownNetwork {
  readonly config: { readonly slug: string };
  readonly router: {
    readonly all: readonly Upstream[];
    readonly options: { readonly maxLagBlocks: number | undefined };
  };
  readonly chain: { readonly view: ChainView<Upstream> };
  readonly auditsOf: (upstream: string) => AuditCounts | undefined;
}

interface MadeConditions {
  readonly at: number;
  readonly signs: string;
  readonly conditions: UpstreamConditionMap;
}

/** Conditions by upstream, in the order of the router. */
export type UpstreamConditionMap = ReadonlyMap<Upstream, UpstreamCondition>;

/** Comparing the latencies of all upstreams takes milliseconds, so each second does it for this number of networks. */
const COMPARED_NETWORKS = 20;

/** An upstream whose audits found a difference is shown for this time. */
const SHOWN_DIFFERENCE_MS = 3_600_000;

/** Conditions are made at most once in this time: anybody may request /readyz and the status, as often as they want. */
const MAX_AGE_MS = 1_000;

const withoutCalls: ReadonlySet<UpstreamConditionState> = new Set(['failing', 'other-chain', 'drained', 'paused']);

/** The only place where the state of an upstream and the reason of its trouble are made. */
export class UpstreamConditions {
  readonly #slow = new WeakMap<ShownNetwork, ReadonlyMap<object, string>>();
  readonly #made = new WeakMap<ShownNetwork, MadeConditions>();
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
    if (made !== undefined && now - made.at < MAX_AGE_MS && made.signs === signsOf(network)) return made.conditions;
    const conditions = new Map(
      network.router.all.map((upstream) => {
        const { state, reason } = this.#troubleOf(upstream, network, now);
        return [upstream, { state, reason, isWorking: !withoutCalls.has(state) }];
      }),
    );
    this.#made.set(network, { at: now, signs: signsOf(network), conditions });
    return conditions;
  }

  /** The worst of its troubles. */
  #troubleOf(upstream: Upstream, network: ShownNetwork, now: number): Omit<UpstreamCondition, 'isWorking'> {
    const state = upstream.connectionState(network.chain.view.headOf(upstream)?.at);
    const trouble = upstream.health.trouble(now);
    if (state === 'drained') return { state, reason: 'an operator has drained it' };
    if (state === 'other-chain') return { state, reason: trouble?.reason ?? 'it serves another chain' };
    // Its circuit is open meanwhile.
    if (upstream.circuit.pauseMs(now) !== undefined)
      return { state: 'paused', reason: trouble?.reason ?? 'it requested a pause' };
    const slowness = this.#slow.get(network)?.get(upstream);
    // It responds to polls, so its circuit opens and closes again and again.
    if (slowness !== undefined && upstream.health.isOnlyOvertaken) return { state: 'slow', reason: slowness };
    if (state === 'failing') return { state, reason: trouble?.reason ?? 'no response yet' };
    if (state === 'overtaken') return { state: 'slow', reason: 'hedged requests to other upstreams respond first' };
    const mark = network.chain.view.markOf(upstream);
    if (mark !== undefined)
      return {
        state: 'other-branch',
        reason: `on another branch: it has other blocks than the network from ${mark.number}`,
      };
    const lag = lagOf(upstream, network, now);
    if (lag !== undefined) return { state: 'behind', reason: `${lag} blocks behind` };
    if (slowness !== undefined) return { state: 'slow', reason: slowness };
    const difference = network.auditsOf(upstream.name)?.difference;
    if (difference === undefined || now - difference.at > SHOWN_DIFFERENCE_MS) return { state, reason: undefined };
    const minutes = Math.floor((now - difference.at) / 60_000);
    const found =
      difference.from === undefined
        ? 'audits found other results'
        : `audits: differs from ${difference.from}, no third decides`;
    return { state: 'differs', reason: `${found}, last ${minutes === 0 ? 'now' : `${minutes} min ago`}` };
  }
}

/** Signs that are shown at once. */
function signsOf({ router }: ShownNetwork): string {
  return router.all.map(({ circuit, drain }) => `${circuit.isClosed} ${drain === undefined}`).join();
}

/** Undefined: within what the network allows, or its head is not known. */
function lagOf(upstream: Upstream, { router, chain: { view } }: ShownNetwork, now: number): number | undefined {
  if (router.all.length === 1 || view.headOf(upstream) === undefined) return undefined;
  const lag = view.lagOf(upstream, now);
  return lag > (router.options.maxLagBlocks ?? view.maxLag) ? lag : undefined;
}
