import type { Tally, TimeTally } from './tallies.ts';

/** Counts the calls of one method of one network. */
export class CallMeter {
  readonly #outcomes = new Map<string, Tally>();
  readonly #tallyOf: (outcome: string) => Tally;
  readonly #seconds: TimeTally;
  readonly #inFlight: Tally;

  constructor(tallyOf: (outcome: string) => Tally, seconds: TimeTally, inFlight: Tally) {
    this.#tallyOf = tallyOf;
    this.#seconds = seconds;
    this.#inFlight = inFlight;
  }

  started(): void {
    this.#inFlight.add(1);
  }

  /** Outcomes are names from a closed list, never what a caller sent. */
  ended(outcome: string, startedAt: number): void {
    this.#inFlight.add(-1);
    this.#seconds.observe((performance.now() - startedAt) / 1000);
    this.count(outcome);
  }

  /** By itself: one that never was under way. */
  count(outcome: string): void {
    let tally = this.#outcomes.get(outcome);
    if (tally === undefined) this.#outcomes.set(outcome, (tally = this.#tallyOf(outcome)));
    tally.add(1);
  }
}
