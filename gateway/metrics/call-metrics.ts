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
  readonly #callsInFlight: GaugeMetric;
  readonly #callsQueued: GaugeMetric;
  readonly #callsCoalesced: CounterMetric;
  readonly #verified: CounterMetric;
  readonly #rejections: CounterMetric;

  constructor(page: Registry) {
    this.counts = fastCounter(page, 'gatehouse_calls_total');
    this.seconds = fastHistogram(page, 'gatehouse_call_duration_seconds');
    this.#callsInFlight = fastGauge(page, 'gatehouse_calls_in_flight');
    this.#callsQueued = fastGauge(page, 'gatehouse_calls_queued');
    this.#rejections = fastCounter(page, 'gatehouse_key_rejections_total');
    this.#callsCoalesced = fastCounter(page, 'gatehouse_calls_coalesced_total');
    this.#verified = fastCounter(page, 'gatehouse_verified_results_total');
  }

  /** @param method the name of a method of the network, else `other` */
  metric(network: string, method: string): CallMetric {
    const inFlight = this.#callsInFlight.labels(network);
    return new CallMetric(
      (outcome) => this.counts.labels(network, method, outcome),
      this.seconds.labels(network, method),
      inFlight,
      (rule) => this.#rejections.labels(network, rule),
      (proof) => this.#verified.labels(network, method, proof),
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
  readonly #proofCounterFor: (proof: string) => CounterValue;
  readonly #rejectionsBy: (rule: string) => CounterValue;

  constructor(
    counterFor: (outcome: string) => CounterValue,
    seconds: HistogramValue,
    inFlight: CounterValue,
    rejectionsBy: (rule: string) => CounterValue,
    proofCounterFor: (proof: string) => CounterValue,
  ) {
    this.#proofCounterFor = proofCounterFor;
    this.#counterFor = counterFor;
    this.#rejectionsBy = rejectionsBy;
    this.#seconds = seconds;
    this.#inFlight = inFlight;
  }

  /** A result is returned with this proof. */
  verified(proof: Proof): void {
    this.#proofCounterFor(proof.replace(/:.*/, '')).value++;
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
    this.#rejectionsBy(ruleNameOf(rule)).value++;
  }

  /** Counts a call for which `started` was not called, such as a rejected one. */
  count(outcome: string): void {
    let counter = this.#outcomes.get(outcome);
    if (counter === undefined) this.#outcomes.set(outcome, (counter = this.#counterFor(outcome)));
    counter.value++;
  }
}
