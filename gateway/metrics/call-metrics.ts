import type { Registry } from 'prom-client';
import type { Proof } from '../jsonrpc/proof.ts';
import { clock } from '../clock/clock.ts';
import { ruleNameOf, type RejectionRule } from '../jsonrpc/errors.ts';
import type { HistogramValue, NumberValue } from './counters.ts';
import { histogram, numbers } from './instruments.ts';

/** Counts the calls of one method of one network. */
export class CallMetric {
  readonly #page: Registry;
  readonly #network: string;
  readonly #method: string;
  readonly #outcomes = new Map<string, NumberValue>();
  readonly #seconds: HistogramValue;
  readonly #inFlight: NumberValue;

  /** @param method the name of a method of the network, else `other` */
  constructor(page: Registry, network: string, method: string) {
    this.#page = page;
    this.#network = network;
    this.#method = method;
    this.#seconds = histogram(page, 'gatehouse_call_duration_seconds').labels(network, method);
    this.#inFlight = numbers(page, 'gatehouse_calls_in_flight').labels(network);
    this.#inFlight.add(0);
  }

  /** A result is returned with this proof. */
  verified(proof: Proof): void {
    const verified = numbers(this.#page, 'gatehouse_verified_results_total');
    verified.labels(this.#network, this.#method, proof.replace(/:.*/, '')).add();
  }

  started(): void {
    this.#inFlight.add(1);
  }

  /** @param outcome a name from a closed list, never text that a caller sent */
  ended(outcome: string, startedAt: number): void {
    this.#inFlight.add(-1);
    this.#seconds.observe((clock.now() - startedAt) / 1000);
    this.count(outcome);
  }

  /** Counts a rejection by a permission, limit or bound. */
  rejectedBy(rule: RejectionRule): void {
    numbers(this.#page, 'gatehouse_key_rejections_total').labels(this.#network, ruleNameOf(rule)).add();
  }

  /** Counts a call for which `started` was not called, such as a rejected one. */
  count(outcome: string): void {
    let counter = this.#outcomes.get(outcome);
    if (counter === undefined) {
      counter = numbers(this.#page, 'gatehouse_calls_total').labels(this.#network, this.#method, outcome);
      this.#outcomes.set(outcome, counter);
    }
    counter.add();
  }
}
