import type { Socket } from 'node:net';
import type { MemoryBudget } from './memory-budget.ts';
import { Reservation } from './reservation.ts';

/** Smaller parts of a message are not accounted. */
const IGNORED_BYTES = 65_536;

/**
 * Accounts the incomplete message of an upstream's WebSocket, which ws buffers, as bytes of the gateway itself: its caller
 * is known only when it is complete. ws limits its size.
 */
export class IncomingMessageBytes {
  readonly #connection: Socket;
  readonly #taken: Reservation;
  /** `bytesRead` of the connection when the last message was complete. */
  #startBytes: number;

  constructor(connection: Socket, memory: MemoryBudget) {
    this.#connection = connection;
    this.#taken = new Reservation(memory);
    this.#startBytes = connection.bytesRead;
    connection.on('data', () => {
      const bytes = connection.bytesRead - this.#startBytes;
      if (bytes > IGNORED_BYTES) this.#taken.setTo(bytes);
    });
  }

  /** Ends a message; to be called for each complete message, and when the connection ends. */
  finished(): void {
    this.#startBytes = this.#connection.bytesRead;
    this.#taken.setTo(0);
  }
}
