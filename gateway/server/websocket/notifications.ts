import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { SocketMemory } from './socket-memory.ts';

/** Fewer unread bytes are normal. */
const IGNORED_BYTES = 65_536;
/** A client that leaves more bytes of its notifications unread is a slow reader. */
const MAX_UNREAD_BYTES = 4_000_000;

/** Sends the notifications of one socket, and closes slow readers. */
export class Notifications {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #memory: SocketMemory;
  readonly #close: (reason: 'slow-reader' | 'overloaded') => void;
  #unreadBytes = 0;

  /**
   * @param connection the connection under the socket
   * @param close closes the socket
   */
  constructor(
    socket: WebSocket,
    connection: Socket,
    memory: SocketMemory,
    close: (reason: 'slow-reader' | 'overloaded') => void,
  ) {
    this.#socket = socket;
    this.#connection = connection;
    this.#memory = memory;
    this.#close = close;
  }

  /** Sends all texts in one write. */
  send(texts: readonly string[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const reason = this.#check();
    if (reason !== undefined) {
      this.#close(reason);
      return;
    }
    this.#connection.cork();
    for (const text of texts) {
      this.#unreadBytes += text.length;
      this.#socket.send(text, { binary: false });
    }
    this.#connection.uncork();
    this.#memory.update();
  }

  /** To be called when nothing is buffered any more. */
  drained(): void {
    this.#unreadBytes = 0;
  }

  /** Runs before sending, so that one call of `send` may exceed the limit. */
  #check(): 'slow-reader' | 'overloaded' | undefined {
    const bufferedBytes = this.#socket.bufferedAmount;
    if (bufferedBytes <= IGNORED_BYTES) this.drained();
    if (this.#unreadBytes > MAX_UNREAD_BYTES) return 'slow-reader';
    return bufferedBytes > IGNORED_BYTES && this.#memory.isExhausted ? 'overloaded' : undefined;
  }
}
