import { MIN_ATTEMPT_MS } from './attempts.ts';
import { RetryBudget } from './retry/retry-budget.ts';
import { createHeadPoll, type RoutedCall } from './routed-call.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { HeadPositions } from '../upstreams/available-blocks.ts';
import type { CallNeeds } from '../routing-policy/candidate.ts';
import { lastResortOrder, NEVER, orderCandidates, type OrderedCandidate } from '../routing-policy/order-candidates.ts';
import { skipReasonOf, type SkipReason } from '../routing-policy/skip-reasons.ts';
import { Ranking } from './ranking.ts';
import { SelectionState, type UpstreamState } from './selection-state.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { Upstream } from '../upstreams/upstream.ts';

type Purpose = CallNeeds['purpose'];

/** An unknown error is retried once, at another upstream. The second unknown error is the response. */
const MAX_UNKNOWN_ERRORS = 2;

/**
 * Selects the upstream of an attempt: the first one in the order of the routing policy. `BudgetedSelector`
 * applies the retry budget.
 */
export class UpstreamSelector {
  readonly #upstreams: readonly Upstream[];
  readonly #ranking: Ranking<Upstream>;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #state: SelectionState;
  /** The upstreams whose heads may be polled; undefined: all. */
  readonly #headSources: readonly Upstream[] | undefined;
  readonly #heads: HeadPositions<Upstream>;

  /**
   * @param maxLagBlocks an upstream further behind is skipped; undefined: by the block time of the network
   * @param previous of the same network before a reload
   */
  constructor(
    upstreams: readonly Upstream[],
    heads: HeadPositions<Upstream>,
    monotonic: MonotonicReads<Upstream>,
    maxLagBlocks: number | undefined,
    previous?: UpstreamSelector,
    headSources?: readonly Upstream[],
  ) {
    this.#upstreams = upstreams;
    this.#ranking = new Ranking(upstreams, previous === undefined ? undefined : previous.#ranking);
    this.#monotonic = monotonic;
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
      if (skipReasonOf(candidate, needs, network) === undefined) return begin(preferred, now);
    }
    let lastResort: Upstream | undefined;
    let lowest = NEVER;
    for (const upstream of this.#ranking.order(routedCall.group, now)) {
      if (tried.includes(upstream)) continue;
      this.#state.readUpstream(upstream, routedCall, now);
      const reason = skipReasonOf(candidate, needs, network);
      if (reason !== 'excluded' && range?.allows(upstream) === false) continue;
      if (reason === undefined) return begin(upstream, now);
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

  /**
   * If all upstreams are marked as not supporting a method: the one marked longest, of those with a closed circuit. A
   * lagging upstream is selected only if all of them lag.
   */
  selectLongestMarked(method: string, candidates = this.#upstreams): Upstream | undefined {
    let longest: Upstream | undefined;
    let firstDeadline = Infinity;
    let isLongestLagging = true;
    for (const upstream of candidates) {
      const mark = upstream.methods.markOf(method);
      if (mark === undefined || !upstream.circuit.isClosed) continue;
      const isLagging = this.#monotonic.isLagging(upstream);
      if (isLagging === isLongestLagging ? mark.deadline >= firstDeadline : isLagging) continue;
      [longest, firstDeadline, isLongestLagging] = [upstream, mark.deadline, isLagging];
    }
    return longest;
  }
}

/** Whether all upstreams that may get the method are marked as not supporting it. */
export function isUnsupportedByAll(method: string, candidates: readonly Upstream[]): boolean {
  for (const { methods } of candidates) if (!methods.isUnsupported(method)) return false;
  return candidates.length > 0;
}

/** An upstream without a skip reason gets the call. If its circuit is not closed, the call is a trial. */
function begin(upstream: Upstream, now: number): Upstream {
  if (!upstream.circuit.isClosed) upstream.circuit.tryBeginTrial(now);
  return upstream;
}

/**
 * Selects the upstream of each attempt and hedge of a network: while there is time, while another attempt may change
 * the outcome, and within the retry budget.
 */
export class BudgetedSelector {
  readonly #selector: UpstreamSelector;
  readonly #metrics: NetworkRoutingMetrics;
  readonly #budget: RetryBudget;

  /** @param previous of the same network before a reload; its budget is continued */
  constructor(selector: UpstreamSelector, metrics: NetworkRoutingMetrics, previous?: BudgetedSelector) {
    this.#selector = selector;
    this.#metrics = metrics;
    this.#budget = previous === undefined ? new RetryBudget() : previous.#budget;
  }

  /** Undefined: no further attempt is made. A response is confirmed at closed circuits only. */
  selectNext(routedCall: RoutedCall, now: number): Upstream | undefined {
    const { tried, failed, deadline, method, unconfirmed } = routedCall;
    const isFirst = tried.length === 0;
    if (isFirst) this.#budget.countCall(now);
    if (deadline - now <= (isFirst ? 0 : MIN_ATTEMPT_MS)) return undefined;
    if (failed.length > 1 && failed.filter(isUnknownError).length >= MAX_UNKNOWN_ERRORS) {
      return undefined;
    }
    const upstream = this.#selector.select(routedCall, now, unconfirmed === undefined ? 'attempt' : 'closed-retry');
    // A range that is too large for one upstream is no failure.
    if (isFirst || upstream === undefined || isRefusedRange(routedCall)) return upstream;
    if (upstream.circuit.isClosed || method.sends === true) {
      this.#budget.countExtra();
      return upstream;
    }
    if (this.takeRetry(now)) return upstream;
    routedCall.observer?.budgetExceeded('retry');
    // An upstream with a closed circuit may come later in the order, despite a skip reason.
    return this.#selector.select(routedCall, now, 'closed-retry');
  }

  /** Selects the only upstream that was tried once more, within the retry budget. */
  selectAgain({ tried, deadline }: RoutedCall, now: number): Upstream | undefined {
    const [upstream, other] = tried;
    if (upstream === undefined || other !== undefined || deadline - now <= MIN_ATTEMPT_MS) return undefined;
    if (!upstream.circuit.isClosed || upstream.limits?.hasCapacity(now) === false) return undefined;
    return this.takeRetry(now) ? upstream : undefined;
  }

  /** Selects the upstream of a hedged request, and counts the attempt. */
  selectHedge(routedCall: RoutedCall, now: number): Upstream | undefined {
    const upstream = this.#selector.select(routedCall, now, 'hedge');
    if (upstream === undefined) return undefined;
    if (!this.#budget.takeExtra(now)) {
      this.#metrics.budgetExceeded('hedge');
      routedCall.observer?.budgetExceeded('hedge');
      return undefined;
    }
    this.#metrics.hedged('started');
    routedCall.tried.push(upstream);
    return upstream;
  }

  /** Takes one retry from the budget. @returns whether there was one */
  takeRetry(now: number): boolean {
    const hasTaken = this.#budget.takeExtra(now);
    if (!hasTaken) this.#metrics.budgetExceeded('retry');
    return hasTaken;
  }
}

function isRefusedRange({ range, failed }: RoutedCall): boolean {
  return range !== undefined && failed.at(-1)?.failure === 'too-large';
}

/** A guessed revert (code 3) does not count: it is passed on only if no upstream has a usable response. */
function isUnknownError({ failure, response }: FailedOutcome): boolean {
  return failure === 'unknown' && !(response?.kind === 'error' && response.code === 3);
}
