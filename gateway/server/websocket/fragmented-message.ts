import type { Socket } from 'node:net';
import type { MemoryBudget } from '../../limits/memory-budget.ts';

/** From the first look at a message to its last byte. */
const MESSAGE_TIMEOUT_MS = 30_000;
/** Less than this of a message is no reason to look at it. */
const IGNORED_BYTES = 65_536;
/** Of a control frame, its content aside. */
const CONTROL_FRAME_BYTES = 6;

/** What came of a message until it is whole. ws keeps it: so it counts as held, and must not take for ever. */
export class FragmentedMessage {
  readonly #connection: Socket;
  readonly #memory: MemoryBudget;
  /** How much had been read when the last message was whole. */
  #from: number;
  #since = 0;
  #reserved = 0;

  constructor(connection: Socket, memory: MemoryBudget) {
    this.#connection = connection;
    this.#memory = memory;
    this.#from = connection.bytesRead;
  }

  /** A message is whole. */
  finished(): void {
    this.#from = this.#connection.bytesRead;
  }

  /** A ping or pong came, which may be in the midst of a message. */
  countControlFrame(controlFrame: Buffer): void {
    this.#from += CONTROL_FRAME_BYTES + controlFrame.length;
  }

  /** @returns why the socket must be ended, if it must */
  check(now: number, isPaused: boolean): 'overloaded' | 'slow-message' | undefined {
    const bytes = isPaused ? 0 : this.#connection.bytesRead - this.#from;
    if (bytes <= IGNORED_BYTES) {
      this.release();
      this.#since = now;
      return undefined;
    }
    this.#memory.reserveAnyway(bytes - this.#reserved);
    this.#reserved = bytes;
    if (this.#memory.isFull) return 'overloaded';
    return now - this.#since > MESSAGE_TIMEOUT_MS ? 'slow-message' : undefined;
  }

  release(): void {
    this.#memory.release(this.#reserved);
    this.#reserved = 0;
  }
}
