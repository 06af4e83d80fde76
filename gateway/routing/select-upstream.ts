import { createHeadPoll, type RoutedCall } from './routed-call.ts';
import type { Balance } from '../network-files/network-config.ts';
import type { HeadPositions } from '../upstreams/available-blocks.ts';
import type { CallNeeds } from '../routing-policy/candidate.ts';
import { lastResortOrder, NEVER, orderCandidates, type OrderedCandidate } from '../routing-policy/order-candidates.ts';
import { skipReasonOf, type SkipReason } from '../routing-policy/skip-reasons.ts';
import { BalancedRanking } from './ranking/balanced-ranking.ts';
import { Ranking } from './ranking/ranking.ts';
import { SelectionState, type UpstreamState } from './selection-state.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { Upstream } from '../upstreams/upstream.ts';

type Purpose = CallNeeds['purpose'];

interface SelectorOptions {
  readonly balance?: Balance;
  /** An upstream further behind is skipped; undefined: by the block time of the network. */
  readonly maxLagBlocks?: number | undefined;
  /** The upstreams whose heads may be polled; undefined: all. */
  readonly headSources?: readonly Upstream[] | undefined;
  /** Of the same network before a reload. */
  readonly previous?: UpstreamSelector | undefined;
}

/**
 * Selects the upstream of an attempt: the first one in the order of the routing policy. `BudgetedSelector`
 * applies the retry budget.
 */
export class UpstreamSelector {
  readonly #upstreams: readonly Upstream[];
  readonly #ranking: Ranking<Upstream> | BalancedRanking<Upstream>;
  /** Undefined: one upstream is first until another is clearly faster. */
  readonly #balanced: BalancedRanking<Upstream> | undefined;
  readonly #state: SelectionState;
  /** The upstreams whose heads may be polled; undefined: all. */
  readonly #headSources: readonly Upstream[] | undefined;
  readonly #heads: HeadPositions<Upstream>;

  constructor(
    upstreams: readonly Upstream[],
    heads: HeadPositions<Upstream>,
    monotonic: MonotonicReads<Upstream>,
    { balance = 'first', maxLagBlocks, headSources, previous }: SelectorOptions,
  ) {
    this.#upstreams = upstreams;
    this.#balanced = balance === 'first' ? undefined : new BalancedRanking(upstreams, balance);
    const before = previous === undefined ? undefined : previous.#ranking;
    this.#ranking = this.#balanced ?? new Ranking(upstreams, before instanceof Ranking ? before : undefined);
    this.#heads = heads;
    this.#headSources = headSources;
    this.#state = new SelectionState(upstreams, heads, monotonic, maxLagBlocks);
  }

  /**
   * Selects the upstream of an attempt, and begins a trial if its circuit is not closed.
   * @param purpose `hedge` and `closed-retry` select closed circuits only
   */
  select(routedCall: RoutedCall, now: number, purpose: Purpose = 'attempt'): Upstream | undefined {
    const { tried, observer, range } = routedCall;
    const preferred = routedCall.preferred ?? range?.first;
    const isAttempt = purpose === 'attempt';
    const reportsAll = isAttempt && tried.length === 0 && observer?.needsAllSkipReasons === true;
    if (reportsAll)
      for (const { candidate, skipReason } of this.order(routedCall, now))
        if (skipReason !== undefined) observer.skipped(candidate.upstream.name, skipReason);
    const { candidate, needs, network } = this.#state;
    this.#state.readCall(routedCall, purpose);
    if (isAttempt && preferred !== undefined && !tried.includes(preferred)) {
      this.#state.readUpstream(preferred, routedCall, now);
      if (skipReasonOf(candidate, needs, network) === undefined) return this.#begin(preferred, routedCall, now);
    }
    let lastResort: Upstream | undefined;
    let lowest = NEVER;
    for (const upstream of this.#ranking.order(routedCall.group, now)) {
      if (tried.includes(upstream)) continue;
      this.#state.readUpstream(upstream, routedCall, now);
      const reason = skipReasonOf(candidate, needs, network);
      if (reason !== 'excluded' && range?.allows(upstream) === false) continue;
      if (reason === undefined) return this.#begin(upstream, routedCall, now);
      if (isAttempt && tried.length === 0) upstream.metrics.skipped(reason);
      if (isAttempt && !reportsAll) observer?.skipped(upstream.name, reason);
      const order = lastResortOrder(reason, candidate, needs, network);
      if (order >= lowest) continue;
      lastResort = upstream;
      lowest = order;
    }
    return lastResort;
  }

  /**
   * For a call for a tag: polls upstreams that are behind, or may be after a failure, and would be selected before the first
   * one at the head. One whose circuit is not closed is polled if there is no other.
   * @returns resolves when it is known whether one of them is at the head; undefined: the call does not wait
   */
  catchUp({ group, blocks, tried, candidates }: RoutedCall, now: number): Promise<void> | undefined {
    if (blocks?.tag === undefined || this.#upstreams.length === 1) return undefined;
    let recovering: Upstream | undefined;
    for (const upstream of this.#ranking.order(group, now)) {
      if (tried.includes(upstream) || candidates?.includes(upstream) === false) continue;
      const { circuit, isHeadUncertain } = upstream;
      if (circuit.isClosed) {
        if (!isHeadUncertain && !this.#heads.isBehind(upstream)) return undefined;
        const poll = this.#heads.catchUp(upstream, now);
        if (poll !== undefined) return poll;
      } else if (isHeadUncertain && circuit.isCooldownOver(now)) recovering ??= upstream;
    }
    return recovering && this.#heads.catchUp(recovering, now);
  }

  /** The upstreams that all calls skip now. */
  skipReasons(now: number): Map<Upstream, SkipReason> {
    const reasons = new Map<Upstream, SkipReason>();
    for (const { candidate, skipReason } of this.order(createHeadPoll(this.#headSources), now))
      if (skipReason !== undefined) reasons.set(candidate.upstream, skipReason);
    return reasons;
  }

  /** The upstreams without a skip reason for a call, of the first priority that has one, in the order of the ranking. */
  candidatesFor(routedCall: RoutedCall, now: number): Upstream[] {
    const usable = this.order(routedCall, now).filter(({ skipReason }) => skipReason === undefined);
    const upstreams = usable.map(({ candidate }) => candidate.upstream);
    return upstreams.filter(({ config }) => config.priority === upstreams[0]?.config.priority);
  }

  /** All untried upstreams in the order of the policy, with their skip reasons. Selects none. */
  order(routedCall: RoutedCall, now: number, purpose: Purpose = 'attempt'): OrderedCandidate<UpstreamState>[] {
    const { candidate, needs, network } = this.#state;
    this.#state.readCall(routedCall, purpose);
    const candidates = this.#ranking.order(routedCall.group, now).map((upstream): UpstreamState => {
      this.#state.readUpstream(upstream, routedCall, now);
      return { upstream, ...candidate };
    });
    return orderCandidates(candidates, needs, network);
  }

  /** An upstream without a skip reason gets the call. If its circuit is not closed, the call is a trial. */
  #begin(upstream: Upstream, { group }: RoutedCall, now: number): Upstream {
    if (!upstream.circuit.isClosed) upstream.circuit.tryBeginTrial(now);
    this.#balanced?.take(upstream, group);
    return upstream;
  }
}
