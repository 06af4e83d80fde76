import type { Registry } from 'prom-client';
import type { Proof } from '../jsonrpc/proof.ts';
import { clock } from '../clock/clock.ts';
import { ruleNameOf, type RejectionRule } from '../jsonrpc/errors.ts';
import type { CounterMetric, CounterValue, GaugeMetric, HistogramMetric, HistogramValue } from './counters.ts';
import { fastCounter, fastGauge, fastHistogram } from './instruments.ts';

/** The metrics of calls, by network and method. Requests to upstreams are in `Metrics`. */
export class CallMetrics {
  readonly counts: CounterMetric;
  readonly seconds: HistogramMetric;
  readonly inFlight: GaugeMetric;
  readonly verified: CounterMetric;
  readonly rejections: CounterMetric;
  readonly #queued: GaugeMetric;
  readonly #coalesced: CounterMetric;

  constructor(page: Registry) {
    this.counts = fastCounter(page, 'gatehouse_calls_total');
    this.seconds = fastHistogram(page, 'gatehouse_call_duration_seconds');
    this.inFlight = fastGauge(page, 'gatehouse_calls_in_flight');
    this.#queued = fastGauge(page, 'gatehouse_calls_queued');
    this.rejections = fastCounter(page, 'gatehouse_key_rejections_total');
    this.#coalesced = fastCounter(page, 'gatehouse_calls_coalesced_total');
    this.verified = fastCounter(page, 'gatehouse_verified_results_total');
  }

  /** @param method the name of a method of the network, else `other` */
  metric(network: string, method: string): CallMetric {
    return new CallMetric(this, network, method);
  }

  /** @returns a function to call with 1 when a call is queued, and with -1 when it leaves the queue */
  queueMetric(network: string): (change: 1 | -1) => void {
    const queued = this.#queued.labels(network);
    return (change) => {
      queued.value += change;
    };
  }

  /** @returns a function to call for each coalesced call */
  coalescedMetric(network: string): () => void {
    const coalesced = this.#coalesced.labels(network);
    return () => {
      coalesced.value++;
    };
  }
}

/** Counts the calls of one method of one network. */
export class CallMetric {
  readonly #metrics: CallMetrics;
  readonly #network: string;
  readonly #method: string;
  readonly #outcomes = new Map<string, CounterValue>();
  readonly #seconds: HistogramValue;
  readonly #inFlight: CounterValue;

  constructor(metrics: CallMetrics, network: string, method: string) {
    this.#metrics = metrics;
    this.#network = network;
    this.#method = method;
    this.#seconds = metrics.seconds.labels(network, method);
    this.#inFlight = metrics.inFlight.labels(network);
  }

  /** A result is returned with this proof. */
  verified(proof: Proof): void {
    this.#metrics.verified.labels(this.#network, this.#method, proof.replace(/:.*/, '')).value++;
  }

  started(): void {
    this.#inFlight.value++;
  }

  /** @param outcome a name from a closed list, never text that a caller sent */
  ended(outcome: string, startedAt: number): void {
    this.#inFlight.value--;
    this.#seconds.observe((clock.now() - startedAt) / 1000);
    this.count(outcome);
  }

  /** Counts a rejection by a permission, limit or bound. */
  rejectedBy(rule: RejectionRule): void {
    this.#metrics.rejections.labels(this.#network, ruleNameOf(rule)).value++;
  }

  /** Counts a call for which `started` was not called, such as a rejected one. */
  count(outcome: string): void {
    let counter = this.#outcomes.get(outcome);
    if (counter === undefined)
      this.#outcomes.set(outcome, (counter = this.#metrics.counts.labels(this.#network, this.#method, outcome)));
    counter.value++;
  }
}
