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
  readonly #end: (fault: 'slow-reader' | 'overloaded') => void;
  #untaken = 0;
  #held = 0;

  /**
   * @param wire the connection under the socket
   * @param end ends the socket
   */
  constructor(socket: WebSocket, wire: Socket, load: Load, end: (fault: 'slow-reader' | 'overloaded') => void) {
    this.#socket = socket;
    this.#wire = wire;
    this.#load = load;
    this.#end = end;
  }

  /** As one write, however many they are. */
  send(texts: readonly string[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const fault = this.#look();
    if (fault !== undefined) {
      this.#end(fault);
      return;
    }
    this.#wire.cork();
    for (const text of texts) {
      this.#untaken += text.length;
      this.#socket.send(text, { binary: false });
    }
    this.#wire.uncork();
    this.#hold();
  }

  /** Nothing waits any more. */
  taken(): void {
    this.#load.release(this.#held);
    this.#untaken = this.#held = 0;
  }

  /** Before more is sent, so that any number gets through at once. */
  #look(): 'slow-reader' | 'overloaded' | undefined {
    if (this.#socket.bufferedAmount <= USUAL_BYTES) this.taken();
    if (this.#untaken > MOST_BYTES) return 'slow-reader';
    return this.#held > 0 && this.#load.isFull ? 'overloaded' : undefined;
  }

  #hold(): void {
    const buffered = this.#socket.bufferedAmount;
    if (buffered <= USUAL_BYTES) return;
    const held = Math.min(this.#untaken, buffered);
    this.#load.add(held - this.#held);
    this.#held = held;
  }
}
