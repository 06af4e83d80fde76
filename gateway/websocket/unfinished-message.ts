import type { Socket } from 'node:net';
import type { Load } from '../load.ts';

/** From the first look at a message to its last byte. */
const LIMIT_MS = 30_000;
/** Less than this of a message is no reason to look at it. */
const USUAL_BYTES = 65_536;
/** Of a control frame, its content aside. */
const CONTROL_FRAME_BYTES = 6;

/** What came of a message until it is whole. ws keeps it: so it counts as held, and must not take for ever. */
export class UnfinishedMessage {
  readonly #wire: Socket;
  readonly #load: Load;
  /** How much had been read when the last message was whole. */
  #from: number;
  #since = 0;
  #held = 0;

  constructor(wire: Socket, load: Load) {
    this.#wire = wire;
    this.#load = load;
    this.#from = wire.bytesRead;
  }

  /** A message is whole. */
  finished(): void {
    this.#from = this.#wire.bytesRead;
  }

  /** A ping or pong came, which may be in the midst of a message. */
  passed(controlFrame: Buffer): void {
    this.#from += CONTROL_FRAME_BYTES + controlFrame.length;
  }

  /** @returns why the socket must be ended, if it must */
  look(now: number, isPaused: boolean): 'overloaded' | 'slow-message' | undefined {
    const bytes = isPaused ? 0 : this.#wire.bytesRead - this.#from;
    if (bytes <= USUAL_BYTES) {
      this.release();
      this.#since = now;
      return undefined;
    }
    this.#load.add(bytes - this.#held);
    this.#held = bytes;
    if (this.#load.isFull) return 'overloaded';
    return now - this.#since > LIMIT_MS ? 'slow-message' : undefined;
  }

  release(): void {
    this.#load.release(this.#held);
    this.#held = 0;
  }
}
