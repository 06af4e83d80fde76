import { Counter, Gauge, type Registry } from 'prom-client';
import { skipReasonNames, type SkipReason } from '../routing-policy/skip-reasons.ts';

/** The routing metrics of one network: failover, hedging, retry budget. */
export interface NetworkRoutingMetrics {
  /** @param upstream tried after another one failed */
  failedOver(upstream: string): void;
  hedged(event: 'started' | 'won' | 'lost'): void;
  /** The retry budget did not allow a retry or a hedge. */
  budgetExceeded(what: 'retry' | 'hedge'): void;
}

/** The selection metrics of one upstream. */
export interface SelectionMetrics {
  skipped(reason: SkipReason): void;
}

export type CircuitState = 'closed' | 'half-open' | 'open';

/** An upstream of the active configuration. */
export interface ActiveUpstream {
  readonly network: string;
  readonly upstream: string;
  readonly circuit: CircuitState;
  /** It has responded or failed before. */
  readonly isUsed: boolean;
}

const circuitNumbers: Readonly<Record<CircuitState, number>> = { closed: 0, 'half-open': 1, open: 2 };

/** The metrics of routing: to which upstream a call was sent, and why. */
export class RoutingMetrics {
  readonly #failovers: Counter<'network' | 'upstream'>;
  readonly #hedges: Counter<'network' | 'event'>;
  readonly #budgetExceeded: Counter<'network' | 'what'>;
  readonly #skips: Counter<'network' | 'upstream' | 'reason'>;
  /** The upstreams of the active configuration. */
  active: () => readonly ActiveUpstream[] = () => [];

  constructor(registry: Registry) {
    const registers = [registry];
    this.#failovers = new Counter({
      name: 'gatehouse_failovers_total',
      help: 'Attempts after another upstream failed, by the upstream tried instead',
      labelNames: ['network', 'upstream'] as const,
      registers,
    });
    this.#hedges = new Counter({
      name: 'gatehouse_hedges_total',
      help: 'Hedged requests to a second upstream: started, then won (the second responded first) or lost',
      labelNames: ['network', 'event'] as const,
      registers,
    });
    this.#budgetExceeded = new Counter({
      name: 'gatehouse_retry_budget_exhausted_total',
      help: 'Retries and hedges not made because the retry budget of the network was used up',
      labelNames: ['network', 'what'] as const,
      registers,
    });
    this.#skips = new Counter({
      name: 'gatehouse_upstream_skipped_total',
      help: `Calls for which the upstream was skipped at first selection, by skip reason (${skipReasonNames.join(', ')})`,
      labelNames: ['network', 'upstream', 'reason'] as const,
      registers,
    });
    this.#gauge(
      'gatehouse_upstream_up',
      '1 unless calls, polls or probes of the upstream fail by its own fault (its circuit is not closed)',
      registry,
      (state) => (state === 'closed' ? 1 : 0),
    );
    this.#gauge(
      'gatehouse_upstream_circuit_state',
      'Circuit breaker: 0 closed, 1 half-open (single calls are tried), 2 open (the upstream is skipped)',
      registry,
      (state) => circuitNumbers[state],
    );
  }

  /**
   * Reads the upstreams of the active configuration at each scrape. A replaced upstream that still has a call in progress
   * thus cannot overwrite the state of its successor of the same name.
   */
  watch(active: () => readonly ActiveUpstream[]): void {
    this.active = active;
  }

  networkMetrics(network: string): NetworkRoutingMetrics {
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
    };
  }

  upstreamMetrics(network: string, upstream: string): SelectionMetrics {
    return {
      skipped: (reason) => {
        this.#skips.inc({ network, upstream, reason });
      },
    };
  }

  #gauge(name: string, help: string, registry: Registry, valueOf: (state: CircuitState) => number): void {
    const active = (): readonly ActiveUpstream[] => this.active();
    new Gauge({
      name,
      help,
      labelNames: ['network', 'upstream'] as const,
      registers: [registry],
      collect() {
        this.reset();
        for (const { network, upstream, circuit } of active()) this.set({ network, upstream }, valueOf(circuit));
      },
    });
  }
}
