import type { Socket } from 'node:net';
import { gatehouse } from '../admission/account.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** Smaller parts of a message are not accounted. */
const IGNORED_BYTES = 65_536;

/**
 * Accounts the incomplete message of an upstream's WebSocket, which ws buffers, as bytes of the gateway itself: its caller
 * is known only when it is complete. ws limits its size.
 */
export class IncomingMessageBytes {
  readonly #connection: Socket;
  readonly #memory: MemoryBudget;
  /** `bytesRead` of the connection when the last message was complete. */
  #startBytes: number;
  #takenBytes = 0;

  constructor(connection: Socket, memory: MemoryBudget) {
    this.#connection = connection;
    this.#memory = memory;
    this.#startBytes = connection.bytesRead;
    connection.on('data', () => {
      const bytes = connection.bytesRead - this.#startBytes;
      if (bytes > IGNORED_BYTES) this.#set(bytes);
    });
  }

  /** Ends a message; to be called for each complete message, and when the connection ends. */
  finished(): void {
    this.#startBytes = this.#connection.bytesRead;
    if (this.#takenBytes > 0) this.#set(0);
  }

  #set(bytes: number): void {
    this.#memory.add(gatehouse, bytes - this.#takenBytes);
    this.#takenBytes = bytes;
  }
}
