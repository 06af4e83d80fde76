import type { CallNeeds, CandidateState, NetworkState } from '../routing-policy/candidate.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { RoutedCall } from './routed-call.ts';
import type { HeadPositions } from '../upstreams/available-blocks.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** The state of one upstream for the routing policy. */
export interface UpstreamState extends CandidateState {
  readonly upstream: Upstream;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Reads the state of a network's upstreams for the routing policy. The objects are overwritten by the next read, so that a
 * selection allocates nothing. With one upstream, blocks and heads are not compared.
 */
export class SelectionState {
  readonly candidate: Mutable<CandidateState> = {
    isExcluded: false,
    isTried: false,
    isPreferred: false,
    hasCapacity: true,
    isMethodMarked: false,
    isArchive: false,
    lacksBlocks: false,
    head: undefined,
    isHeadUncertain: false,
    lag: 0,
    isTagOlder: false,
    circuit: 'closed',
    isOnOtherChain: false,
  };
  readonly needs: Mutable<CallNeeds> = {
    blocks: undefined,
    listsLogs: false,
    isHeadNumber: false,
    isPassThrough: false,
    sends: false,
    purpose: 'attempt',
  };
  readonly network: Mutable<NetworkState>;
  readonly #heads: HeadPositions<Upstream>;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #maxLagBlocks: number | undefined;
  readonly #isAlone: boolean;

  constructor(
    upstreams: readonly Upstream[],
    heads: HeadPositions<Upstream>,
    monotonic: MonotonicReads<Upstream>,
    maxLagBlocks: number | undefined,
  ) {
    const hasArchives = upstreams.length > 1 && upstreams.some(({ blocks }) => blocks.isArchive);
    this.network = { head: 0, newestServed: 0, maxLag: 0, hasArchives };
    this.#heads = heads;
    this.#monotonic = monotonic;
    this.#maxLagBlocks = maxLagBlocks;
    this.#isAlone = upstreams.length === 1;
  }

  readCall({ method, blocks }: RoutedCall, purpose: CallNeeds['purpose']): void {
    const { needs, network } = this;
    needs.blocks = blocks;
    needs.listsLogs = method.resultIs === 'logs';
    needs.isHeadNumber = method.resultIs === 'head-number';
    needs.isPassThrough = method.isPassThrough === true;
    needs.sends = method.sends === true;
    needs.purpose = purpose;
    if (this.#isAlone) return;
    const { number, newestServed, pace } = this.#heads;
    network.head = number === undefined ? 0 : Number(number);
    network.newestServed = Number(newestServed.number);
    network.maxLag = this.#maxLagBlocks ?? pace.maxLag;
  }

  readUpstream(upstream: Upstream, { method, blocks, tried, preferred, candidates }: RoutedCall, now: number): void {
    const { candidate, needs } = this;
    const { circuit } = upstream;
    candidate.isExcluded = candidates?.includes(upstream) === false;
    candidate.isTried = tried.length > 0 && tried.includes(upstream);
    candidate.isPreferred = upstream === preferred && needs.purpose === 'attempt';
    candidate.hasCapacity = upstream.limits?.hasCapacity(now) !== false && circuit.pauseMs(now) === undefined;
    candidate.isMethodMarked = upstream.methods.isSkipped(method.name);
    candidate.circuit = circuit.isClosed ? 'closed' : circuit.isCooldownOver(now) ? 'trial-due' : 'open';
    candidate.isOnOtherChain = upstream.isOnOtherChain;
    if (this.#isAlone) return;
    const polled = this.#heads.headOf(upstream);
    candidate.head = polled === undefined ? undefined : Number(polled.number);
    candidate.isHeadUncertain = upstream.isHeadUncertain;
    candidate.lag = this.#heads.lagOf(upstream);
    candidate.isArchive = upstream.blocks.isArchive;
    candidate.lacksBlocks = blocks !== undefined && upstream.blocks.isMissing(method.name, blocks, now);
    candidate.isTagOlder = this.#monotonic.isTagOlder(upstream, blocks?.tag, now);
  }
}
