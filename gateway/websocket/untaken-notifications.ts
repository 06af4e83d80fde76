import type { Load } from '../load.ts';

/** So little waits in any connection now and then. */
const USUAL_BYTES = 65_536;
/** A caller that leaves so much of its notifications does not read them, or cannot keep up: more would only pile up. */
const MOST_BYTES = 4_000_000;

/** The notifications that a caller has not taken. They come unasked: so they count as held, and must not pile up. */
export class UntakenNotifications {
  readonly #load: Load;
  #bytes = 0;
  #held = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  /**
   * To be called before more are sent: so any number gets through at once.
   * @param buffered bytes that wait in the socket
   * @returns why the socket must be ended, if it must
   */
  look(buffered: number): 'slow-reader' | 'overloaded' | undefined {
    if (buffered <= USUAL_BYTES) this.taken();
    if (this.#bytes > MOST_BYTES) return 'slow-reader';
    return this.#held > 0 && this.#load.isFull ? 'overloaded' : undefined;
  }

  /** @param buffered bytes that wait in the socket, these included */
  sent(bytes: number, buffered: number): void {
    this.#bytes += bytes;
    if (buffered <= USUAL_BYTES) return;
    const held = Math.min(this.#bytes, buffered);
    this.#load.add(held - this.#held);
    this.#held = held;
  }

  /** Nothing waits any more. */
  taken(): void {
    this.#load.release(this.#held);
    this.#bytes = this.#held = 0;
  }
}
