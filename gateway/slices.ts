/** Work of several milliseconds is cut so, that others wait no longer than a few. */
const SLICE_MS = 2;

/** Cuts work into slices, between which the event loop gets its turn. */
export class Slices {
  #endsAt = performance.now() + SLICE_MS;

  /** To be called between steps. Undefined: go on; else wait for it first. */
  next(): Promise<void> | undefined {
    if (performance.now() < this.#endsAt) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#endsAt = performance.now() + SLICE_MS;
        resolve();
      });
    });
  }
}
