/** So long large work goes on in one turn of the event loop; what was begun by then is ended. */
const SLICE_MS = 1;
/** So long one goes on before the next, where several wait: to take turns at each step costs more than the steps. */
const TURN_MS = 0.1;

/**
 * Cuts large work into slices, between which the event loop gets its turn. Whatever is under way in the process shares
 * one slice in a turn, those who wait going on one after the other, in the order in which they came.
 */
export class Slices {
  #endsAt = 0;
  #turnEndsAt = 0;
  /** Whether the next turn of the event loop begins another slice. */
  #isBegun = false;
  readonly #waiting: (() => void)[] = [];

  /** To be called before each step. Undefined: go on; else wait for it first. */
  next(): Promise<void> | undefined {
    const now = performance.now();
    if (!this.#isBegun) this.#begin(now);
    if (now < this.#endsAt && (this.#waiting.length === 0 || now < this.#turnEndsAt)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #begin(now: number): void {
    this.#isBegun = true;
    this.#endsAt = now + SLICE_MS;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isBegun = false;
    if (this.#waiting.length === 0) return;
    this.#begin(performance.now());
    this.#goOn();
  };

  readonly #goOn = (): void => {
    this.#turnEndsAt = performance.now() + TURN_MS;
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) queueMicrotask(this.#afterStep);
  };

  /** A tick comes when all promises have had their turn, and so when all that was begun is done. */
  readonly #afterStep = (): void => {
    process.nextTick(this.#look);
  };

  readonly #look = (): void => {
    if (performance.now() < this.#endsAt) this.#goOn();
  };
}

/** Of all that is large: the process has one event loop. */
export const slices = new Slices();
