import type { Registry } from 'prom-client';
import { CounterMetric, GaugeMetric, HistogramMetric, type CounterValue, type HistogramValue } from './counters.ts';

/** 1 ms to 30 s: from a cached response to the longest call that a wallet waits for. */
export const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics of calls, by network and method. Requests to upstreams are in `Metrics`. */
export class CallMetrics {
  readonly #calls: CounterMetric;
  readonly seconds: HistogramMetric;
  readonly #callsInFlight: GaugeMetric;
  readonly #callsQueued: GaugeMetric;
  readonly #callsCoalesced: CounterMetric;

  constructor(page: Registry) {
    this.#calls = new CounterMetric(
      {
        name: 'gatehouse_calls_total',
        help: 'Calls by network, method (other: not served, or not attributable) and outcome (result, null, revert, upstream-error, caller-left (cancelled), or the reason of a rejection)',
        labelNames: ['network', 'method', 'outcome'],
      },
      page,
    );
    this.seconds = new HistogramMetric(
      {
        name: 'gatehouse_call_duration_seconds',
        help: 'Time from a call to its response',
        labelNames: ['network', 'method'],
        bounds: DURATION_BUCKETS_S,
      },
      page,
    );
    this.#callsInFlight = new GaugeMetric(
      {
        name: 'gatehouse_calls_in_flight',
        help: 'Calls in progress',
        labelNames: ['network'],
      },
      page,
    );
    this.#callsQueued = new GaugeMetric(
      {
        name: 'gatehouse_calls_queued',
        help: 'Calls queued because NETWORK_CONCURRENCY calls of their network are in progress at its upstreams',
        labelNames: ['network'],
      },
      page,
    );
    this.#callsCoalesced = new CounterMetric(
      {
        name: 'gatehouse_calls_coalesced_total',
        help: 'Calls coalesced with an identical call in progress',
        labelNames: ['network'],
      },
      page,
    );
  }

  /** @param method the name of a method of the network, else `other` */
  metric(network: string, method: string): CallMetric {
    const inFlight = this.#callsInFlight.labels(network);
    return new CallMetric(
      (outcome) => this.#calls.labels(network, method, outcome),
      this.seconds.labels(network, method),
      inFlight,
    );
  }

  /** @returns a function to call with 1 when a call is queued, and with -1 when it leaves the queue */
  queueMetric(network: string): (change: 1 | -1) => void {
    const queued = this.#callsQueued.labels(network);
    return (change) => {
      queued.value += change;
    };
  }

  /** @returns a function to call for each coalesced call */
  coalescedMetric(network: string): () => void {
    const coalesced = this.#callsCoalesced.labels(network);
    return () => {
      coalesced.value++;
    };
  }
}

/** Counts the calls of one method of one network. */
export class CallMetric {
  readonly #outcomes = new Map<string, CounterValue>();
  readonly #counterFor: (outcome: string) => CounterValue;
  readonly #seconds: HistogramValue;
  readonly #inFlight: CounterValue;

  constructor(counterFor: (outcome: string) => CounterValue, seconds: HistogramValue, inFlight: CounterValue) {
    this.#counterFor = counterFor;
    this.#seconds = seconds;
    this.#inFlight = inFlight;
  }

  started(): void {
    this.#inFlight.value++;
  }

  /** @param outcome a name from a closed list, never text that a caller sent */
  ended(outcome: string, startedAt: number): void {
    this.#inFlight.value--;
    this.#seconds.observe((performance.now() - startedAt) / 1000);
    this.count(outcome);
  }

  /** Counts a call for which `started` was not called, such as a rejected one. */
  count(outcome: string): void {
    let counter = this.#outcomes.get(outcome);
    if (counter === undefined) this.#outcomes.set(outcome, (counter = this.#counterFor(outcome)));
    counter.value++;
  }
}
