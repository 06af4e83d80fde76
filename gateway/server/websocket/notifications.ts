import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { MemoryBudget } from '../../limits/memory-budget.ts';

/** So little waits in any connection now and then. */
const IGNORED_BYTES = 65_536;
/** A caller that leaves so much of its notifications does not read them, or cannot keep up: more would only pile up. */
const MAX_UNREAD_BYTES = 4_000_000;

/** The notifications of one socket. They come unasked: so those not taken count as held, and must not pile up. */
export class Notifications {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #memory: MemoryBudget;
  readonly #end: (fault: 'slow-reader' | 'overloaded') => void;
  #unsent = 0;
  #reserved = 0;

  /**
   * @param connection the connection under the socket
   * @param end ends the socket
   */
  constructor(
    socket: WebSocket,
    connection: Socket,
    memory: MemoryBudget,
    end: (fault: 'slow-reader' | 'overloaded') => void,
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.#memory = memory;
    this.#end = end;
  }

  /** As one write, however many they are. */
  send(texts: readonly string[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const fault = this.#check();
    if (fault !== undefined) {
      this.#end(fault);
      return;
    }
    this.#connection.cork();
    for (const text of texts) {
      this.#unsent += text.length;
      this.#socket.send(text, { binary: false });
    }
    this.#connection.uncork();
    this.#reserve();
  }

  /** Nothing waits any more. */
  drained(): void {
    this.#memory.release(this.#reserved);
    this.#unsent = this.#reserved = 0;
  }

  /** Before more is sent, so that any number gets through at once. */
  #check(): 'slow-reader' | 'overloaded' | undefined {
    if (this.#socket.bufferedAmount <= IGNORED_BYTES) this.drained();
    if (this.#unsent > MAX_UNREAD_BYTES) return 'slow-reader';
    return this.#reserved > 0 && this.#memory.isFull ? 'overloaded' : undefined;
  }

  #reserve(): void {
    const buffered = this.#socket.bufferedAmount;
    if (buffered <= IGNORED_BYTES) return;
    const reserved = Math.min(this.#unsent, buffered);
    this.#memory.reserveAnyway(reserved - this.#reserved);
    this.#reserved = reserved;
  }
}
