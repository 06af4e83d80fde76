import { clock } from '../../clock/clock.ts';

/** Longer than a turn of the event loop: connections that come one by one, each in its turn, are one burst. */
const PERIOD_MS = 100;

/** Counts what arrives over all connections in periods of 100 ms, the first of which begins with it. */
export class Burst<Connection> {
  readonly #max: number;
  #count = 0;
  #first: Connection | undefined;
  /** Of the next arrival. */
  period = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(): void {
    if (this.#count++ > 0) return;
    clock
      .setTimeout(() => {
        this.#count = 0;
        this.#first = undefined;
        this.period++;
      }, PERIOD_MS)
      .unref();
  }

  /** Whether more than the maximum has arrived in this period, and this was asked first for another connection. */
  isOver(connection: Connection): boolean {
    this.#first ??= connection;
    return this.#count > this.#max && this.#first !== connection;
  }
}
