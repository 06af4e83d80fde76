import type { Socket } from 'node:net';
import type { SocketMemory } from './socket-memory.ts';

/** From the first check that finds a message incomplete to its last byte. */
const MESSAGE_TIMEOUT_MS = 30_000;
/** Smaller parts of a message are not timed. */
const IGNORED_BYTES = 65_536;
/** Size of a control frame without its payload. */
const CONTROL_FRAME_BYTES = 6;

/**
 * Bounds an incomplete message of one socket, which ws buffers: accounts its bytes, and reports a message that takes
 * more than 30 s.
 */
export class FragmentedMessage {
  readonly #connection: Socket;
  readonly #memory: SocketMemory;
  /** `bytesRead` of the connection when the last message was complete. */
  #startBytes: number;
  #startedAt = 0;

  constructor(connection: Socket, memory: SocketMemory) {
    this.#connection = connection;
    this.#memory = memory;
    this.#startBytes = connection.bytesRead;
  }

  /** To be called for each complete message. */
  finished(): void {
    this.#startBytes = this.#connection.bytesRead;
  }

  /** Excludes a ping or pong, which may arrive within a message. */
  countControlFrame(controlFrame: Buffer): void {
    this.#startBytes += CONTROL_FRAME_BYTES + controlFrame.length;
  }

  /** @returns why the socket must be closed, or undefined */
  check(now: number, isPaused: boolean): 'overloaded' | 'slow-message' | undefined {
    const bytes = isPaused ? 0 : this.#connection.bytesRead - this.#startBytes;
    this.#memory.incompleteBytes = bytes;
    this.#memory.update();
    if (bytes <= IGNORED_BYTES) {
      this.#startedAt = now;
      return undefined;
    }
    if (this.#memory.isExhausted) return 'overloaded';
    return now - this.#startedAt > MESSAGE_TIMEOUT_MS ? 'slow-message' : undefined;
  }
}
