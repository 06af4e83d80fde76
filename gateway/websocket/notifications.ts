import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Load } from '../load.ts';

/** So little waits in any connection now and then. */
const USUAL_BYTES = 65_536;
/** A caller that leaves so much of its notifications does not read them, or cannot keep up: more would only pile up. */
const MOST_BYTES = 4_000_000;

/** The notifications of one socket. They come unasked: so those not taken count as held, and must not pile up. */
export class Notifications {
  readonly #socket: WebSocket;
  readonly #wire: Socket;
  readonly #load: Load;
  #untaken = 0;
  #held = 0;

  /** @param wire the connection under the socket */
  constructor(socket: WebSocket, wire: Socket, load: Load) {
    this.#socket = socket;
    this.#wire = wire;
    this.#load = load;
  }

  /**
   * As one write, however many they are.
   * @returns why the socket must be ended instead, if it must: looked at before, so that any number gets through at once
   */
  send(texts: readonly string[]): 'slow-reader' | 'overloaded' | undefined {
    if (this.#socket.bufferedAmount <= USUAL_BYTES) this.taken();
    if (this.#untaken > MOST_BYTES) return 'slow-reader';
    if (this.#held > 0 && this.#load.isFull) return 'overloaded';
    this.#wire.cork();
    for (const text of texts) {
      this.#untaken += text.length;
      this.#socket.send(text, { binary: false });
    }
    this.#wire.uncork();
    this.#hold();
    return undefined;
  }

  /** Nothing waits any more. */
  taken(): void {
    this.#load.release(this.#held);
    this.#untaken = this.#held = 0;
  }

  #hold(): void {
    const buffered = this.#socket.bufferedAmount;
    if (buffered <= USUAL_BYTES) return;
    const held = Math.min(this.#untaken, buffered);
    this.#load.add(held - this.#held);
    this.#held = held;
  }
}
