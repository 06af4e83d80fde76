import type { Registry } from 'prom-client';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import { histogram, numbers, watch } from './instruments.ts';

/** The routing metrics of one network: failover, hedging, retry budget. */
export interface NetworkRoutingMetrics {
  /** @param upstream tried after another one failed */
  failedOver(upstream: string): void;
  hedged(event: 'started' | 'won' | 'lost'): void;
  /** The retry budget did not allow a retry or a hedge. */
  budgetExceeded(what: 'retry' | 'hedge'): void;
  /** A list of logs that are not in order was returned, because no upstream has another one. */
  returnedIrregular(): void;
  /** A private transaction is sent to upstreams that are no relays. */
  revealed(): void;
}

/** Outcome of a transaction that was sent to an upstream: see gatehouse_transactions_total. */
export type SentOutcome = 'accepted' | 'known' | 'rejected' | 'late' | 'failed';

/** The selection metrics of one upstream. */
export interface SelectionMetrics {
  skipped(reason: SkipReason): void;
  sentTransaction(outcome: SentOutcome): void;
  /** The upstream is the first that accepted a transaction. @param durationS since it was sent */
  acceptedFirst(durationS: number): void;
}

export type PartOutcome = 'result' | 'too-large' | 'failed';
/** `learned`: no upstream allows the range, as far as is known, so it was not sent as it is. */
export type SplitReason = 'range' | 'results' | 'addresses' | 'none' | 'learned';

/** The metrics of ranges of blocks in parts, of one network. */
export interface NetworkRangeMetrics {
  partSent(upstream: string, outcome: PartOutcome): void;
  split(reason: SplitReason): void;
}

export type CircuitState = 'closed' | 'half-open' | 'open';

/** An upstream of the active configuration. */
export interface ActiveUpstream {
  readonly network: string;
  readonly upstream: string;
  readonly circuit: CircuitState;
  /** Unix time in seconds at which it was drained; undefined: it is not. */
  readonly drainedS: number | undefined;
  /** Whether it has responded or failed before, and its state is not `overtaken`. */
  readonly isMeasured: boolean;
  /** Blocks behind the head; undefined: unknown. */
  readonly lag: number | undefined;
  /** The calls that may be in progress there. */
  readonly concurrencyLimit: number;
  /** The calls of client batches are sent singly. */
  readonly isWithoutBatches: boolean;
}

const circuitNumbers: Readonly<Record<CircuitState, number>> = { closed: 0, 'half-open': 1, open: 2 };

/** The gauges of the upstreams of the active configuration; undefined: the upstream has no value. */
const activeGauges = [
  ['gatehouse_upstream_up', ({ circuit }) => Number(circuit === 'closed')],
  ['gatehouse_upstream_circuit_state', ({ circuit }) => circuitNumbers[circuit]],
  ['gatehouse_upstream_concurrency_limit', ({ concurrencyLimit }) => concurrencyLimit],
  ['gatehouse_upstream_batches_off', ({ isWithoutBatches }) => Number(isWithoutBatches)],
  ['gatehouse_upstream_drained_timestamp_seconds', ({ drainedS }) => drainedS],
] as const satisfies readonly [string, (upstream: ActiveUpstream) => number | undefined][];

/** The metrics of routing: to which upstream a call was sent, and why. */
export class RoutingMetrics {
  readonly #page: Registry;
  /**
   * The upstreams of the active configuration, read at each scrape. A replaced upstream that still has a call in progress
   * thus cannot overwrite the state of its successor of the same name.
   */
  active: () => readonly ActiveUpstream[] = () => [];

  constructor(page: Registry) {
    this.#page = page;
    for (const [name, valueOf] of activeGauges)
      watch(page, name, (set) => {
        for (const one of this.active()) {
          const value = valueOf(one);
          if (value !== undefined) set(value, one.network, one.upstream);
        }
      });
  }

  /** @param mayReveal whether its private transactions may be sent to other upstreams than its relays */
  networkMetrics(network: string, mayReveal: boolean): NetworkRoutingMetrics {
    // The first one is seen as an increase.
    if (mayReveal) numbers(this.#page, 'gatehouse_transactions_revealed_total').labels(network).add(0);
    return {
      failedOver: (upstream) => {
        numbers(this.#page, 'gatehouse_failovers_total').labels(network, upstream).add();
      },
      hedged: (event) => {
        numbers(this.#page, 'gatehouse_hedges_total').labels(network, event).add();
      },
      budgetExceeded: (what) => {
        numbers(this.#page, 'gatehouse_retry_budget_exhausted_total').labels(network, what).add();
      },
      returnedIrregular: () => {
        numbers(this.#page, 'gatehouse_irregular_logs_total').labels(network).add();
      },
      revealed: () => {
        numbers(this.#page, 'gatehouse_transactions_revealed_total').labels(network).add();
      },
    };
  }

  upstreamMetrics(network: string, upstream: string): SelectionMetrics {
    return {
      skipped: (reason) => {
        numbers(this.#page, 'gatehouse_upstream_skipped_total').labels(network, upstream, reason).add();
      },
      sentTransaction: (outcome) => {
        numbers(this.#page, 'gatehouse_transactions_total').labels(network, upstream, outcome).add();
      },
      acceptedFirst: (durationS) => {
        const seconds = histogram(this.#page, 'gatehouse_transactions_acceptance_duration_seconds');
        seconds.labels(network, upstream).observe(durationS);
      },
    };
  }

  rangeMetrics(network: string): NetworkRangeMetrics {
    return {
      partSent: (upstream, outcome) => {
        numbers(this.#page, 'gatehouse_range_parts_total').labels(network, upstream, outcome).add();
      },
      split: (reason) => {
        numbers(this.#page, 'gatehouse_range_splits_total').labels(network, reason).add();
      },
    };
  }
}
