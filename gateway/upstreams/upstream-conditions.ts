import { clock } from '../clock/clock.ts';
import type { ChainView } from '../chain/view.ts';
import type { AuditCounts } from '../metrics/audit-metrics.ts';
import { slowUpstreams } from './slow-upstreams.ts';
import type { Upstream } from './upstream.ts';
import type { ConnectionState } from './upstream-state.ts';

/** `behind`: by more blocks than the network allows. `paused`: its rate limit is used up. `differs`: audits found other results. */
export type UpstreamConditionState = Exclude<ConnectionState, 'overtaken'> | 'behind' | 'paused' | 'slow' | 'differs';

/** What pages, probes, commands and the list of events show of an upstream. */
export interface UpstreamCondition {
  readonly state: UpstreamConditionState;
  /** Why it is not as it should be, in words, without secrets; undefined: there is no trouble. */
  readonly reason: string | undefined;
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

/** Comparing the latencies of all upstreams takes milliseconds, so each second does it for this number of networks. */
const COMPARED_NETWORKS = 20;

/** An upstream whose audits found a difference is shown for this time. */
const DIFFERENCE_MS = 3_600_000;

/** The only place where the state of an upstream and the reason of its trouble are made. */
export class UpstreamConditions {
  readonly #slow = new WeakMap<ShownNetwork, ReadonlyMap<object, string>>();
  #compared = 0;

  /** Compares latencies. To be called once a second. */
  compare(networks: readonly ShownNetwork[], now: number): void {
    for (let count = Math.min(COMPARED_NETWORKS, networks.length); count > 0; count--) {
      const network = networks[this.#compared++ % networks.length];
      if (network !== undefined) this.#slow.set(network, slowUpstreams(network.router.all, now));
    }
  }

  /** @param now by clock.now() */
  of(network: ShownNetwork, now = clock.now()): ReadonlyMap<Upstream, UpstreamCondition> {
    return new Map(network.router.all.map((upstream) => [upstream, this.#conditionOf(upstream, network, now)]));
  }

  /** The worst of its troubles. */
  #conditionOf(upstream: Upstream, network: ShownNetwork, now: number): UpstreamCondition {
    const state = upstream.connectionState;
    const trouble = upstream.health.trouble(now);
    if (state === 'drained') return { state, reason: 'an operator has drained it' };
    if (state === 'other-chain') return { state, reason: trouble?.reason ?? 'it serves another chain' };
    if (state === 'failing') return { state, reason: trouble?.reason ?? 'no response yet' };
    if (state === 'overtaken') return { state: 'slow', reason: 'hedged requests to other upstreams respond first' };
    const lag = lagOf(upstream, network, now);
    if (lag !== undefined) return { state: 'behind', reason: `${lag} blocks behind` };
    if (upstream.circuit.pauseMs(now) !== undefined) return { state: 'paused', reason: 'its rate limit is used up' };
    const slowness = this.#slow.get(network)?.get(upstream);
    if (slowness !== undefined) return { state: 'slow', reason: slowness };
    const differedMs = now - (network.auditsOf(upstream.name)?.differedAt ?? -Infinity);
    if (differedMs > DIFFERENCE_MS) return { state, reason: undefined };
    return { state: 'differs', reason: `audits found other results, last ${Math.floor(differedMs / 60_000)} min ago` };
  }
}

/** Undefined: within what the network allows, or its head is not known. */
function lagOf(upstream: Upstream, { router, chain: { view } }: ShownNetwork, now: number): number | undefined {
  if (router.all.length === 1 || view.headOf(upstream) === undefined) return undefined;
  const lag = view.lagOf(upstream, now);
  return lag > (router.options.maxLagBlocks ?? view.maxLag) ? lag : undefined;
}

/** Whether the upstream gets calls, as far as is known. */
export function isWorking({ state }: UpstreamCondition): boolean {
  return state !== 'failing' && state !== 'other-chain' && state !== 'drained';
}
