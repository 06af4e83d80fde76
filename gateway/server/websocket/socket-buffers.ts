import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { clock } from '../../clock/clock.ts';
import { BufferList, byteLengthOf, type Body } from '../../jsonrpc/buffer-list.ts';
import type { Account } from '../../admission/account.ts';
import type { MemoryBudget } from '../../memory/memory-budget.ts';
import { sentBytes } from '../http/node-internals.ts';

/** Interval for confirming keys in use and for the checks of sessions: one timer for all. */
export const TICK_MS = 250;
/** Fewer unread bytes are normal. */
const IGNORED_BYTES = 65_536;
/** Unread bytes beyond which a client must read notifications. The logs of one block can be 10 MB for each subscription. */
const SLOW_UNREAD_BYTES = 4_000_000;
/** Consecutive checks, in which the client read nothing, and in which it stayed above `SLOW_UNREAD_BYTES`. */
const MAX_STALLED_CHECKS = 2_000 / TICK_MS;
const MAX_SLOW_CHECKS = 30_000 / TICK_MS;
/** Consecutive checks in which a client read nothing of any kind, and the budget has no byte for its key. */
const MAX_STALLED_CHECKS_EXHAUSTED = 5_000 / TICK_MS;
const MAX_UNREAD_BYTES = 64_000_000;
/** Longer lists of buffers are not copied, which would take 0.7 ms per MB in one turn. Not all clients expect fragments. */
const MAX_JOINED_BYTES = 262_144;
/** Held bytes, of which more are written at once: what is held counts as unread until all of it is in the kernel. */
const MAX_HELD_BYTES = 65_536;
const NOTIFICATION_END = Buffer.from('}}');

export interface SocketBuffersOptions {
  readonly memory: MemoryBudget;
  readonly account: Account;
  readonly close: (reason: 'slow-reader' | 'overloaded') => void;
}

/**
 * What one socket buffers outside its requests: unread responses and notifications, messages and frames that wait, and the
 * incomplete message in ws. Accounts it in the memory budget, writes to the socket, and closes slow readers.
 */
export class SocketBuffers {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #options: SocketBuffersOptions;
  /** Messages and frames that are received, and not handled. */
  readonly #received = { messages: 0, frames: 0 };
  #takenBytes = 0;
  #isReleased = false;
  /** Upper bound of the unread bytes that are notifications. */
  #notificationBytes = 0;
  #isHeld = false;
  #slowChecks = 0;
  #stalledChecks = 0;
  #sentBytes = 0;

  /** @param connection under the socket */
  constructor(socket: WebSocket, connection: Socket, options: SocketBuffersOptions) {
    this.#socket = socket;
    this.#connection = connection;
    this.#options = options;
  }

  /** Sets the bytes that wait: of messages, or of frames, with the incomplete message. */
  set(kind: 'messages' | 'frames', bytes: number): void {
    this.#received[kind] = bytes;
    this.#account();
  }

  addMessages(bytes: number): void {
    this.set('messages', this.#received.messages + bytes);
  }

  /** Whether the budget has no byte for the key. */
  get isExhausted(): boolean {
    return this.#options.memory.isExhaustedFor(this.#options.account);
  }

  /** Unread responses. */
  get responseBytes(): number {
    return this.#socket.bufferedAmount - this.#notificationBytes;
  }

  /** Upper bound of the bytes of notifications that the client has not read. */
  get notificationBytes(): number {
    return this.#notificationBytes;
  }

  /** Sends one message. */
  send(body: Body): void {
    this.#hold(byteLengthOf(body));
    this.#write(body);
    this.#account();
  }

  /**
   * Writes one message. A long list of buffers is sent in fragments (RFC 6455 §5.4), so that it is not copied: in one step,
   * because no other message may be sent between them.
   */
  #write(body: Body): void {
    if (!(body instanceof BufferList)) this.#socket.send(body, { binary: false });
    else if (body.length <= MAX_JOINED_BYTES) this.#socket.send(body.join(), { binary: false });
    else {
      const last = body.buffers.length - 1;
      for (const [at, fragment] of body.buffers.entries())
        this.#socket.send(fragment, { binary: false, fin: at === last });
    }
  }

  /**
   * Sends notifications.
   * @param start the JSON text of each before its result, without characters beyond ASCII
   * @param results JSON texts, which all subscribers of a kind share
   */
  notify(start: string, results: readonly Buffer[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const reason = this.#checkNotifications();
    if (reason !== undefined) {
      this.#options.close(reason);
      return;
    }
    const before = this.#socket.bufferedAmount;
    this.#connection.cork();
    const begin = Buffer.from(start, 'latin1');
    for (const result of results) this.#write(new BufferList([begin, result, NOTIFICATION_END]));
    const bytes = this.#socket.bufferedAmount - before;
    this.#notificationBytes += bytes;
    // What is corked is counted already.
    this.#hold(0);
    this.#connection.uncork();
    this.#account();
  }

  /** Small writes of one turn of the event loop leave together, in one system call. */
  #hold(bytes: number): void {
    if (this.#connection.writableLength + bytes > MAX_HELD_BYTES) this.#release();
    else if (!this.#isHeld) {
      this.#isHeld = true;
      this.#connection.cork();
      clock.setImmediate(this.#release);
    }
  }

  readonly #release = (): void => {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#connection.uncork();
  };

  /** Runs before sending, so that one call of `notify` may exceed the limit. */
  #checkNotifications(): 'slow-reader' | 'overloaded' | undefined {
    const { bufferedAmount } = this.#socket;
    if (bufferedAmount <= IGNORED_BYTES) this.drained();
    if (this.#notificationBytes > MAX_UNREAD_BYTES && bufferedAmount > MAX_UNREAD_BYTES) return 'slow-reader';
    return bufferedAmount > IGNORED_BYTES && this.isExhausted ? 'overloaded' : undefined;
  }

  /** Notes that nothing is unread any more. To be called then. */
  drained(): void {
    this.#notificationBytes = 0;
    this.#slowChecks = 0;
    this.#account();
  }

  /**
   * Closes a slow reader. To be called every `TICK_MS`. Checks are counted instead of time: while the event loop of a loaded
   * gateway is blocked, it writes nothing, so the client seems to read nothing.
   */
  check(): void {
    // Bytes that were written since then are free.
    this.#account();
    const { bufferedAmount } = this.#socket;
    const sent = sentBytes(this.#connection);
    const isStalled = bufferedAmount > IGNORED_BYTES && sent === this.#sentBytes;
    this.#stalledChecks = isStalled ? this.#stalledChecks + 1 : 0;
    this.#sentBytes = sent;
    this.#notificationBytes = Math.min(this.#notificationBytes, bufferedAmount);
    if (this.#isSlow()) this.#options.close('slow-reader');
    else if (this.#stalledChecks >= MAX_STALLED_CHECKS_EXHAUSTED && this.isExhausted) {
      this.#options.memory.counts.connection++;
      this.#options.close('slow-reader');
    }
  }

  #isSlow(): boolean {
    if (this.#notificationBytes <= SLOW_UNREAD_BYTES) {
      this.#slowChecks = 0;
      return false;
    }
    const stalledChecks = Math.min(this.#stalledChecks, this.#slowChecks++);
    return stalledChecks >= MAX_STALLED_CHECKS || this.#slowChecks > MAX_SLOW_CHECKS;
  }

  /** Releases the bytes. To be called when the socket is closed: nothing is taken after it. */
  release(): void {
    this.#isReleased = true;
    this.#options.memory.add(this.#options.account, -this.#takenBytes);
    this.#takenBytes = 0;
  }

  #account(): void {
    if (this.#isReleased) return;
    const { bufferedAmount } = this.#socket;
    const bytes = bufferedAmount + this.#received.messages + this.#received.frames;
    if (bytes === this.#takenBytes) return;
    this.#options.memory.add(this.#options.account, bytes - this.#takenBytes);
    this.#takenBytes = bytes;
  }
}
