/** What is looked at between two turns of the event loop: a millisecond's work or so. */
const TURN_BYTES = 200_000;

/** Large replies that come together are looked at in turns, oldest first, so that nothing else waits for all of them. */
export class Turns {
  #room = TURN_BYTES;
  #isUsed = false;
  readonly #waiting: { readonly bytes: number; readonly goOn: () => void }[] = [];

  /** Undefined: now; else it has to be waited for. */
  take(bytes: number): Promise<void> | undefined {
    if (!this.#isUsed) {
      this.#isUsed = true;
      setImmediate(this.#next);
    }
    if (this.#room > 0 && this.#waiting.length === 0) {
      this.#room -= bytes;
      return undefined;
    }
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, goOn: resolve });
    });
  }

  readonly #next = (): void => {
    this.#room = TURN_BYTES;
    this.#isUsed = this.#waiting.length > 0;
    if (this.#isUsed) setImmediate(this.#next);
    while (this.#room > 0) {
      const first = this.#waiting.shift();
      if (first === undefined) return;
      this.#room -= first.bytes;
      first.goOn();
    }
  };
}
