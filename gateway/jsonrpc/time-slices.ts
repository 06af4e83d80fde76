import { clock } from '../clock/clock.ts';

/** Time of large work in one turn of the event loop. A step that has started by then is completed. */
const SLICE_MS = 1;
/** Time of one task before the next waiting task resumes. Alternating after each step would cost more than the steps. */
const STEP_MS = 0.1;

/**
 * Divides long work into time slices, between which the event loop runs other work. All long tasks of the process share
 * one slice per turn of the event loop. Waiting tasks resume one after the other, in the order in which they yielded.
 */
export class TimeSlicer {
  #endsAt = 0;
  #stepEndsAt = 0;
  /** Whether a slice has started that the next turn of the event loop ends. */
  #hasBegun = false;
  readonly #waiting: (() => void)[] = [];

  /** Begins a step: called before each. @returns undefined to continue at once, or a promise to await first */
  next(): Promise<void> | undefined {
    const now = clock.now();
    if (!this.#hasBegun) this.#begin(now);
    if (now < this.#endsAt && (this.#waiting.length === 0 || now < this.#stepEndsAt)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #begin(now: number): void {
    this.#hasBegun = true;
    this.#endsAt = now + SLICE_MS;
    clock.setImmediate(this.#onTick);
  }

  readonly #onTick = (): void => {
    this.#hasBegun = false;
    if (this.#waiting.length === 0) return;
    this.#begin(clock.now());
    this.#resumeNext();
  };

  readonly #resumeNext = (): void => {
    this.#stepEndsAt = clock.now() + STEP_MS;
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) queueMicrotask(this.#afterStep);
  };

  /** The next tick runs after all microtasks, so that the resumed task has completed its step. */
  readonly #afterStep = (): void => {
    process.nextTick(this.#resumeIfTimeLeft);
  };

  readonly #resumeIfTimeLeft = (): void => {
    if (clock.now() < this.#endsAt) this.#resumeNext();
  };
}

/** One instance for the process, because the process has one event loop. */
export const timeSlicer = new TimeSlicer();
