import { clock, type Timer } from '../clock/clock.ts';
import { InFlightSet } from '../collections/in-flight-set.ts';

/** Work in progress with a time limit. */
export interface Timed {
  /** Deadline, by clock.now(). */
  readonly deadline: number;
  /** Place among the work in progress. */
  deadlinePlace: number;
  /** Times out the work. Called once, at the deadline. */
  timeOut(): void;
}

/**
 * Ends work in progress at its deadline, with one timer for all. The timer stays set when the work with the first deadline
 * ends earlier, so that work in time costs none. When it fires, all work in progress is visited: some dozens.
 */
export class Deadlines extends InFlightSet<'deadlinePlace', Timed> {
  #timer: Timer | undefined;
  #dueAt = Infinity;

  constructor() {
    super('deadlinePlace');
  }

  override add(work: Timed): void {
    super.add(work);
    if (work.deadline < this.#dueAt) this.#setTimer(work.deadline);
  }

  #setTimer(dueAt: number): void {
    clock.clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer =
      dueAt === Infinity ? undefined : clock.setTimeout(this.#expire, Math.max(0, dueAt - clock.now())).unref();
  }

  readonly #expire = (): void => {
    // A timer may fire early, by less than 1 ms.
    const now = Math.max(clock.now() + 1, this.#dueAt);
    const due = this.entries.filter(({ deadline }) => deadline <= now);
    // Work that times out may end other work.
    for (const work of due) if (this.delete(work)) work.timeOut();
    let first = Infinity;
    for (const { deadline } of this.entries) first = Math.min(first, deadline);
    this.#setTimer(first);
  };
}
