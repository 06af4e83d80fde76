import type { Counter, Registry } from 'prom-client';
import type { SkipReason } from '../routing-policy/skip-reasons.ts';
import type { CounterMetric, HistogramMetric } from './counters.ts';
import { counter, fastCounter, fastHistogram, gauge } from './instruments.ts';

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

/** What became of a transaction that was sent to an upstream: see gatehouse_transactions_total. */
export type SentOutcome = 'accepted' | 'known' | 'rejected' | 'late' | 'failed';

/** The selection metrics of one upstream. */
export interface SelectionMetrics {
  skipped(reason: SkipReason): void;
  sentTransaction(outcome: SentOutcome): void;
  /** The upstream is the first that accepted a transaction. @param durationS since it was sent */
  acceptedFirst(durationS: number): void;
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

/** The metrics of routing: to which upstream a call was sent, and why. */
export class RoutingMetrics {
  readonly #failovers: Counter<'network' | 'upstream'>;
  readonly #hedges: Counter<'network' | 'event'>;
  readonly #budgetExceeded: Counter<'network' | 'what'>;
  readonly #irregular: Counter<'network'>;
  readonly #skips: Counter<'network' | 'upstream' | 'reason'>;
  readonly #transactions: CounterMetric;
  readonly #acceptances: HistogramMetric;
  readonly #revealed: Counter<'network'>;
  /** The upstreams of the active configuration. */
  active: () => readonly ActiveUpstream[] = () => [];

  constructor(registry: Registry) {
    this.#failovers = counter(registry, 'gatehouse_failovers_total');
    this.#hedges = counter(registry, 'gatehouse_hedges_total');
    this.#budgetExceeded = counter(registry, 'gatehouse_retry_budget_exhausted_total');
    this.#irregular = counter(registry, 'gatehouse_irregular_logs_total');
    this.#skips = counter(registry, 'gatehouse_upstream_skipped_total');
    this.#transactions = fastCounter(registry, 'gatehouse_transactions_total');
    this.#acceptances = fastHistogram(registry, 'gatehouse_transactions_acceptance_duration_seconds');
    this.#revealed = counter(registry, 'gatehouse_transactions_revealed_total');
    this.#gauge(registry, 'gatehouse_upstream_up', ({ circuit }) => (circuit === 'closed' ? 1 : 0));
    this.#gauge(registry, 'gatehouse_upstream_circuit_state', ({ circuit }) => circuitNumbers[circuit]);
    this.#gauge(registry, 'gatehouse_upstream_concurrency_limit', ({ concurrencyLimit }) => concurrencyLimit);
    this.#gauge(registry, 'gatehouse_upstream_batches_off', ({ isWithoutBatches }) => Number(isWithoutBatches));
    gauge(registry, 'gatehouse_upstream_drained_timestamp_seconds', (drained) => {
      drained.reset();
      for (const { network, upstream, drainedS } of this.active())
        if (drainedS !== undefined) drained.set({ network, upstream }, drainedS);
    });
  }

  /**
   * Reads the upstreams of the active configuration at each scrape. A replaced upstream that still has a call in progress
   * thus cannot overwrite the state of its successor of the same name.
   */
  watch(active: () => readonly ActiveUpstream[]): void {
    this.active = active;
  }

  /** @param mayReveal whether its private transactions may be sent to other upstreams than its relays */
  networkMetrics(network: string, mayReveal: boolean): NetworkRoutingMetrics {
    // The first one is seen as an increase.
    if (mayReveal) this.#revealed.inc({ network }, 0);
    return {
      failedOver: (upstream) => {
        this.#failovers.inc({ network, upstream });
      },
      hedged: (event) => {
        this.#hedges.inc({ network, event });
      },
      budgetExceeded: (what) => {
        this.#budgetExceeded.inc({ network, what });
      },
      returnedIrregular: () => {
        this.#irregular.inc({ network });
      },
      revealed: () => {
        this.#revealed.inc({ network });
      },
    };
  }

  upstreamMetrics(network: string, upstream: string): SelectionMetrics {
    return {
      skipped: (reason) => {
        this.#skips.inc({ network, upstream, reason });
      },
      sentTransaction: (outcome) => {
        this.#transactions.labels(network, upstream, outcome).value++;
      },
      acceptedFirst: (durationS) => {
        this.#acceptances.labels(network, upstream).observe(durationS);
      },
    };
  }

  #gauge(
    registry: Registry,
    name: `gatehouse_upstream_${'up' | 'circuit_state' | 'concurrency_limit' | 'batches_off'}`,
    valueOf: (state: ActiveUpstream) => number,
  ): void {
    gauge(registry, name, (states) => {
      states.reset();
      for (const active of this.active()) {
        const { network, upstream } = active;
        states.set({ network, upstream }, valueOf(active));
      }
    });
  }
}
