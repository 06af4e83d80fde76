/** So long large work goes on in one turn of the event loop; what was begun by then is ended. */
const SLICE_MS = 1;
/** So long one goes on before the next, where several wait: to take turns at each step costs more than the steps. */
const STEP_MS = 0.1;

/**
 * Cuts large work into slices, between which the event loop gets its turn. Whatever is under way in the process shares
 * one slice in a turn, those who wait going on one after the other, in the order in which they came.
 */
export class TimeSlicer {
  #endsAt = 0;
  #stepEndsAt = 0;
  /** Whether the next turn of the event loop begins another slice. */
  #hasBegun = false;
  readonly #waiting: (() => void)[] = [];

  /** To be called before each step. Undefined: go on; else wait for it first. */
  next(): Promise<void> | undefined {
    const now = performance.now();
    if (!this.#hasBegun) this.#begin(now);
    if (now < this.#endsAt && (this.#waiting.length === 0 || now < this.#stepEndsAt)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #begin(now: number): void {
    this.#hasBegun = true;
    this.#endsAt = now + SLICE_MS;
    setImmediate(this.#onTick);
  }

  readonly #onTick = (): void => {
    this.#hasBegun = false;
    if (this.#waiting.length === 0) return;
    this.#begin(performance.now());
    this.#resumeNext();
  };

  readonly #resumeNext = (): void => {
    this.#stepEndsAt = performance.now() + STEP_MS;
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) queueMicrotask(this.#afterStep);
  };

  /** A tick comes when all promises have had their turn, and so when all that was begun is done. */
  readonly #afterStep = (): void => {
    process.nextTick(this.#resumeIfTimeLeft);
  };

  readonly #resumeIfTimeLeft = (): void => {
    if (performance.now() < this.#endsAt) this.#resumeNext();
  };
}

/** Of all that is large: the process has one event loop. */
export const timeSlicer = new TimeSlicer();
