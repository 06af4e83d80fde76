/** Work of several milliseconds is cut so, that others wait no longer than a few. */
const SLICE_MS = 2;
/** How many of those who wait go on at once: each does a tenth of a millisecond's work or so before it looks again. */
const AT_ONCE = 8;

/** Cuts work into slices, between which the event loop gets its turn. */
export class Slices {
  #endsAt = performance.now() + SLICE_MS;
  readonly #waiting: (() => void)[] = [];

  /** To be called between steps. Undefined: go on; else wait for it first. */
  next(): Promise<void> | undefined {
    if (performance.now() < this.#endsAt) return undefined;
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#goOn);
    });
  }

  readonly #goOn = (): void => {
    this.#endsAt = performance.now() + SLICE_MS;
    for (const resolve of this.#waiting.splice(0, AT_ONCE)) resolve();
    if (this.#waiting.length > 0) setImmediate(this.#goOn);
  };
}
