interface Count {
  inc(): void;
}

/** Counts the calls of one method of one network. */
export class CallMeter {
  readonly #outcomes = new Map<string, Count>();
  readonly #counterFor: (outcome: string) => Count;
  readonly #seconds: { observe(value: number): void };
  readonly #inFlight: Count & { dec(): void };

  constructor(
    counterFor: (outcome: string) => Count,
    seconds: { observe(value: number): void },
    inFlight: Count & { dec(): void },
  ) {
    this.#counterFor = counterFor;
    this.#seconds = seconds;
    this.#inFlight = inFlight;
  }

  started(): void {
    this.#inFlight.inc();
  }

  /** Outcomes are names from a closed list, never what a caller sent. */
  ended(outcome: string, startedAt: number): void {
    this.#inFlight.dec();
    this.#seconds.observe((performance.now() - startedAt) / 1000);
    this.count(outcome);
  }

  /** By itself: one that never was under way. */
  count(outcome: string): void {
    let counter = this.#outcomes.get(outcome);
    if (counter === undefined) this.#outcomes.set(outcome, (counter = this.#counterFor(outcome)));
    counter.inc();
  }
}
