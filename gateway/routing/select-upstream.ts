import { MIN_ATTEMPT_MS } from './attempts.ts';
import { RetryBudget } from './retry/retry-budget.ts';
import type { RoutedCall } from './routed-call.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { SkipReason } from '../observability/call-observer.ts';
import { isOld, type HeadPositions, type NamedBlocks } from '../upstreams/available-blocks.ts';
import { Ranking } from './ranking.ts';
import type { MonotonicReads } from './monotonic-reads.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** An unknown error is retried once, at another upstream. The second unknown error is the response. */
const MAX_UNKNOWN_ERRORS = 2;

/** Selects the upstream of an attempt by rank and skip reasons. `BudgetedSelector` applies the retry budget. */
export class UpstreamSelector {
  readonly #upstreams: readonly Upstream[];
  readonly #ranking: Ranking<Upstream>;
  readonly #heads: HeadPositions<Upstream>;
  readonly #monotonic: MonotonicReads<Upstream>;
  readonly #hasArchives: boolean;
  readonly #maxLagBlocks: number | undefined;

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
  ) {
    this.#upstreams = upstreams;
    this.#ranking = new Ranking(upstreams, previous === undefined ? undefined : previous.#ranking);
    this.#heads = heads;
    this.#monotonic = monotonic;
    this.#maxLagBlocks = maxLagBlocks;
    this.#hasArchives = upstreams.some(({ blocks }) => blocks.isArchive);
  }

  /**
   * Selects the preferred upstream, else the first candidate without a skip reason. The last resort is an untried upstream
   * with a skip reason, unless it is at its limit or on another chain.
   */
  select(routedCall: RoutedCall, now: number): Upstream | undefined {
    const { preferred, tried } = routedCall;
    if (preferred !== undefined && !tried.includes(preferred) && preferred.tryAcquireCall(now)) return preferred;
    let lastResort: Upstream | undefined;
    for (const upstream of this.#ranking.order(routedCall.group, now)) {
      if (tried.includes(upstream)) continue;
      const reason = this.#skipReason(upstream, routedCall, now);
      if (reason === undefined) return upstream;
      if (tried.length === 0) upstream.metrics.skipped(reason);
      routedCall.observer?.skipped(upstream.name, reason);
      if (reason === 'at-limit' || reason === 'other-chain') continue;
      // A closed circuit is preferred as the last resort.
      if (lastResort === undefined || (upstream.circuit.isClosed && !lastResort.circuit.isClosed))
        lastResort = upstream;
    }
    return lastResort;
  }

  /** Selects an untried closed circuit: prefers one without a skip reason; else any that is not at its limit. */
  selectClosedCircuit(routedCall: RoutedCall, now: number): Upstream | undefined {
    const isUsable = (upstream: Upstream): boolean =>
      upstream.circuit.isClosed && !routedCall.tried.includes(upstream) && upstream.limits?.hasCapacity(now) !== false;
    return this.selectHedge(routedCall, now) ?? this.#ranking.order(routedCall.group, now).find(isUsable);
  }

  /** Selects an untried upstream with a closed circuit and without a skip reason. */
  selectHedge(routedCall: RoutedCall, now: number): Upstream | undefined {
    return this.#ranking
      .order(routedCall.group, now)
      .find(
        (upstream) =>
          upstream.circuit.isClosed &&
          !routedCall.tried.includes(upstream) &&
          this.#skipReason(upstream, routedCall, now) === undefined,
      );
  }

  /**
   * If all upstreams are marked as not supporting a method: the one marked longest, of those with a closed circuit. A
   * lagging upstream is selected only if all of them lag.
   */
  selectLongestMarked(method: string): Upstream | undefined {
    let longest: Upstream | undefined;
    let firstDeadline = Infinity;
    let isLongestLagging = true;
    for (const upstream of this.#upstreams) {
      const mark = upstream.methods.markOf(method);
      if (mark === undefined || !upstream.circuit.isClosed) continue;
      const isLagging = this.#monotonic.isLagging(upstream);
      if (isLagging === isLongestLagging ? mark.deadline >= firstDeadline : isLagging) continue;
      [longest, firstDeadline, isLongestLagging] = [upstream, mark.deadline, isLagging];
    }
    return longest;
  }

  #skipReason(upstream: Upstream, { method, blocks }: RoutedCall, now: number): SkipReason | undefined {
    if (upstream.limits?.hasCapacity(now) === false) return 'at-limit';
    if (upstream.methods.isSkipped(method.name)) return 'unsupported-method';
    if (this.#upstreams.length > 1) {
      if (blocks !== undefined && this.#isMissingBlock(upstream, method.name, blocks, now)) return 'missing-block';
      if (this.#heads.lagOf(upstream) > (this.#maxLagBlocks ?? this.#heads.pace.maxLag)) return 'behind';
      if (blocks?.tag !== undefined && this.#monotonic.isBehind(upstream, blocks.tag, now)) return 'behind';
    }
    // A transaction does not probe a half-open circuit, because the upstream may hang.
    if (upstream.circuit.isClosed || (method.sends !== true && upstream.tryAcquireCall(now))) return undefined;
    // After the cooldown, the upstream checks its chain id again before it sends a call.
    return upstream.isOnOtherChain && !upstream.circuit.isCooldownOver(now) ? 'other-chain' : 'circuit-open';
  }

  #isMissingBlock(upstream: Upstream, method: string, blocks: NamedBlocks, now: number): boolean {
    if (blocks.highest > 0 && !this.#heads.hasBlock(upstream, BigInt(blocks.highest))) return true;
    if (upstream.blocks.isArchive) return false;
    if (upstream.blocks.isMissing(method, blocks, now)) return true;
    const head = this.#heads.number;
    return this.#hasArchives && blocks.readsState && head !== undefined && isOld(blocks.lowest, head);
  }
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

  /** Undefined: no further attempt is made. */
  selectNext(routedCall: RoutedCall, now: number): Upstream | undefined {
    const { tried, failed, deadline, method } = routedCall;
    const isFirst = tried.length === 0;
    if (isFirst) this.#budget.countCall(now);
    if (deadline - now <= (isFirst ? 0 : MIN_ATTEMPT_MS)) return undefined;
    if (failed.length > 1 && failed.filter(isUnknownError).length >= MAX_UNKNOWN_ERRORS) {
      return undefined;
    }
    const upstream = this.#selector.select(routedCall, now);
    if (isFirst || upstream === undefined) return upstream;
    if (upstream.circuit.isClosed || method.sends === true) {
      this.#budget.countExtra();
      return upstream;
    }
    if (this.takeRetry(now)) return upstream;
    routedCall.observer?.budgetExceeded('retry');
    // An upstream with a closed circuit may come later in the order, despite a skip reason.
    return this.#selector.selectClosedCircuit(routedCall, now);
  }

  /** Selects the upstream of a hedged request, and counts the attempt. */
  selectHedge(routedCall: RoutedCall, now: number): Upstream | undefined {
    const upstream = this.#selector.selectHedge(routedCall, now);
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

/** A guessed revert (code 3) does not count: it is passed on only if no upstream has a usable response. */
function isUnknownError({ failure, response }: FailedOutcome): boolean {
  return failure === 'unknown' && !(response?.kind === 'error' && response.code === 3);
}
