import { MIN_ATTEMPT_MS } from './attempts.ts';
import { RetryBudget } from './retry/retry-budget.ts';
import { hasAttempt, type RoutedCall } from './routed-call.ts';
import type { NetworkRoutingMetrics } from '../metrics/routing-metrics.ts';
import type { UpstreamSelector } from './select-upstream.ts';
import type { FailedOutcome } from '../upstreams/outcome.ts';
import type { Upstream } from '../upstreams/upstream.ts';

/** An unknown error is retried once, at another upstream. The second unknown error is the response. */
const MAX_UNKNOWN_ERRORS = 2;

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
    if (deadline - now <= (isFirst ? 0 : MIN_ATTEMPT_MS) || (!isFirst && !hasAttempt(routedCall))) return undefined;
    if (failed.length > 1 && failed.filter(isUnknownError).length >= MAX_UNKNOWN_ERRORS) {
      return undefined;
    }
    const upstream = this.#selector.select(routedCall, now, unconfirmed === undefined ? 'attempt' : 'closed-retry');
    // A range that is too large for one upstream is no failure.
    if (isFirst || upstream === undefined || isRefusedRange(routedCall)) return upstream;
    if (upstream.circuit.isClosed || method.sends === true) {
      // An upstream without the method executed nothing.
      if (failed.at(-1)?.failure !== 'unsupported') this.#budget.countExtra();
      return upstream;
    }
    if (this.takeRetry(now)) return upstream;
    routedCall.observer?.budgetExceeded('retry');
    // An upstream with a closed circuit may come later in the order, despite a skip reason.
    return this.#selector.select(routedCall, now, 'closed-retry');
  }

  /** Selects the only upstream that was tried once more, within the retry budget. */
  selectAgain(routedCall: RoutedCall, now: number): Upstream | undefined {
    const { tried, deadline } = routedCall;
    const [upstream, other] = tried;
    if (!hasAttempt(routedCall)) return undefined;
    if (upstream === undefined || other !== undefined || deadline - now <= MIN_ATTEMPT_MS) return undefined;
    if (!upstream.circuit.isClosed || upstream.limits?.hasCapacity(now) === false) return undefined;
    return this.takeRetry(now) ? upstream : undefined;
  }

  /** Selects the upstream of a hedged request, and counts the attempt. */
  selectHedge(routedCall: RoutedCall, now: number): Upstream | undefined {
    if (!hasAttempt(routedCall)) return undefined;
    const upstream = this.#selector.select(routedCall, now, 'hedge');
    if (upstream === undefined) return undefined;
    if (!this.#budget.takeExtra(now)) {
      this.#metrics.budgetExceeded('hedge');
      routedCall.observer?.budgetExceeded('hedge');
      return undefined;
    }
    this.#metrics.hedged('started');
    routedCall.tried = [...routedCall.tried, upstream];
    routedCall.attempts++;
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
