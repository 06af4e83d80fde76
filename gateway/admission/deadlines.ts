/** Work in progress with a time limit. */
export interface Timed {
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /** Called once, at the deadline. */
  timeOut(): void;
}

/**
 * Ends work in progress at its deadline, with one timer for all. The timer stays set when the work with the first deadline
 * ends earlier, so that work in time costs none. When it fires, all work in progress is visited: some dozens.
 */
export class Deadlines {
  readonly #work = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Infinity;

  add(work: Timed): void {
    this.#work.add(work);
    if (work.deadline < this.#dueAt) this.#setTimer(work.deadline);
  }

  delete(work: Timed): void {
    this.#work.delete(work);
  }

  #setTimer(dueAt: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer =
      dueAt === Infinity ? undefined : setTimeout(this.#expire, Math.max(0, dueAt - performance.now())).unref();
  }

  readonly #expire = (): void => {
    // A timer may fire early, by less than 1 ms.
    const now = Math.max(performance.now() + 1, this.#dueAt);
    let first = Infinity;
    for (const work of this.#work) {
      if (work.deadline > now) first = Math.min(first, work.deadline);
      else {
        this.#work.delete(work);
        work.timeOut();
      }
    }
    this.#setTimer(first);
  };
}
