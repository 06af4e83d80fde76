import type { CounterValue, HistogramValue } from './counters.ts';

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
