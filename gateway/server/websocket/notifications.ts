import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { sentBytes } from '../../memory/unread-connections.ts';
import { TICK_MS } from './session-options.ts';
import type { SocketMemory } from './socket-memory.ts';
import { turnWrites } from './turn-writes.ts';

/** Fewer unread bytes are normal. */
const IGNORED_BYTES = 65_536;
/** Beyond this, a client must read. The logs of one block can be 10 MB for each subscription. */
const SLOW_UNREAD_BYTES = 4_000_000;
/** Consecutive checks, in which the client read nothing, and in which it stayed above `SLOW_UNREAD_BYTES`. */
const MAX_STALLED_CHECKS = 2_000 / TICK_MS;
const MAX_SLOW_CHECKS = 30_000 / TICK_MS;
const MAX_UNREAD_BYTES = 64_000_000;

/** Sends the notifications of one socket, and closes slow readers. */
export class Notifications {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #memory: SocketMemory;
  readonly #close: (reason: 'slow-reader' | 'overloaded') => void;
  #unreadBytes = 0;
  #slowChecks = 0;
  #stalledChecks = 0;
  #sentBytes = 0;

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

  /** Upper bound of the bytes of notifications that the client has not read. */
  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  /** Sends all texts in one write. */
  send(texts: readonly string[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const reason = this.#checkUnread();
    if (reason !== undefined) {
      this.#close(reason);
      return;
    }
    let bytes = 0;
    for (const { length } of texts) bytes += length;
    this.#unreadBytes += bytes;
    turnWrites.hold(this.#connection, bytes);
    this.#connection.cork();
    for (const text of texts) this.#socket.send(text, { binary: false });
    this.#connection.uncork();
    this.#memory.update();
  }

  /** Whether so much is unread that `tick` must be called. */
  get isWatched(): boolean {
    return this.#unreadBytes > SLOW_UNREAD_BYTES;
  }

  /** To be called when nothing is buffered any more. */
  drained(): void {
    this.#unreadBytes = 0;
    this.#slowChecks = 0;
  }

  /**
   * To be called every `TICK_MS` while it `isWatched`, and closes a slow reader. Checks are counted instead of time: while the
   * event loop of a loaded gateway is blocked, it writes nothing, so the client seems to read nothing.
   */
  tick(): void {
    if (this.isWatched) this.#unreadBytes = Math.min(this.#unreadBytes, this.#bufferedBytes);
    if (!this.isWatched) {
      this.#slowChecks = 0;
      return;
    }
    const sent = sentBytes(this.#connection);
    this.#stalledChecks = this.#slowChecks > 0 && sent === this.#sentBytes ? this.#stalledChecks + 1 : 0;
    this.#sentBytes = sent;
    this.#slowChecks++;
    if (this.#stalledChecks >= MAX_STALLED_CHECKS || this.#slowChecks > MAX_SLOW_CHECKS) this.#close('slow-reader');
  }

  get #bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** Runs before sending, so that one call of `send` may exceed the limit. */
  #checkUnread(): 'slow-reader' | 'overloaded' | undefined {
    const bufferedBytes = this.#bufferedBytes;
    if (bufferedBytes <= IGNORED_BYTES) this.drained();
    if (this.#unreadBytes > MAX_UNREAD_BYTES && bufferedBytes > MAX_UNREAD_BYTES) return 'slow-reader';
    return bufferedBytes > IGNORED_BYTES && this.#memory.isExhausted ? 'overloaded' : undefined;
  }
}
