import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { clock } from '../../clock/clock.ts';
import type { KeyAccess } from '../../auth/key-access.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { SocketBuffers } from './socket-buffers.ts';
import { incompleteBytes, joinParts, messageEnded, type Receiver, receiverOf, replaceReader } from './ws-internals.ts';

/** Bytes that are passed to ws at once. They have up to 170 messages, which are handled in one step. */
const PIECE_BYTES = 1_024;
/** Time from the first check that finds a message incomplete to its last byte. */
const MESSAGE_TIMEOUT_MS = 30_000;
/** Smaller parts of a message are not timed. */
const IGNORED_BYTES = 65_536;

/**
 * Reads the frames of one socket. The bytes of its connection are passed to ws in pieces, within the budget of the turn: one
 * read has up to 10,000 frames, which ws would handle at once. While pieces wait, the connection is not read. Bounds the attack
 * `tiny WebSocket messages`.
 *
 * Joins the small parts of an incomplete message, and reports one that takes more than 30 s. Bounds the attack `WebSocket
 * fragments of one byte`.
 */
export class SocketFrames {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #buffers: SocketBuffers;
  readonly #key: { readonly access: KeyAccess };
  /** The listener of ws. */
  readonly #pass: (bytes: Buffer) => void;
  readonly #receiver: Receiver;
  /** Bytes that wait. */
  #rest: Buffer[] = [];
  #isWaiting = false;
  #isPassing = false;
  #startedAt = clock.now();

  /** @param key its account is charged */
  constructor(socket: WebSocket, connection: Socket, buffers: SocketBuffers, key: { readonly access: KeyAccess }) {
    this.#socket = socket;
    this.#connection = connection;
    this.#buffers = buffers;
    this.#key = key;
    this.#receiver = receiverOf(socket);
    this.#pass = replaceReader(connection, (bytes) => {
      this.#rest.push(bytes);
      this.#continue();
    });
    connection.on('resume', () => {
      if (this.#isWaiting) connection.pause();
      else if (this.#rest.length > 0 && !this.#isPassing) this.#continue();
    });
  }

  /** Notes the end of a message. To be called for each complete one. */
  messageEnded(): void {
    messageEnded(this.#receiver);
  }

  /** @returns why the socket must be closed, or undefined */
  checkMessage(now: number): 'overloaded' | 'slow-message' | undefined {
    if (incompleteBytes(this.#receiver) <= IGNORED_BYTES || this.#socket.isPaused) {
      this.#startedAt = now;
      return undefined;
    }
    if (this.#buffers.isExhausted) return 'overloaded';
    return now - this.#startedAt > MESSAGE_TIMEOUT_MS ? 'slow-message' : undefined;
  }

  readonly #resume = (): void => {
    this.#isWaiting = false;
    this.#continue();
    // ws may have paused it, too: its messages wait.
    if (this.#rest.length === 0 && !this.#socket.isPaused) this.#connection.resume();
  };

  #continue(): void {
    if (this.#isWaiting || this.#isPassing) return;
    const owner = this.#key.access.account.payer.name;
    const receiver = this.#receiver;
    // `resume` continues after a pause.
    while (receiver.writable && this.#rest.length > 0 && !this.#socket.isPaused) {
      if (turnBudget.mayRun(owner)) turnBudget.run(owner, this.#passPiece);
      else {
        this.#isWaiting = true;
        this.#connection.pause();
        turnBudget.wait(owner, this.#resume);
        break;
      }
    }
    // After a close frame, an error or the end of the connection, ws reads nothing more. It may resume the connection itself.
    if (!receiver.writable) this.#rest = [];
    const waitingBytes = this.#rest.reduce((sum, { length }) => sum + length, 0);
    this.#buffers.set('frames', waitingBytes + incompleteBytes(receiver));
  }

  readonly #passPiece = (): void => {
    const bytes = this.#rest.shift() as Buffer;
    if (bytes.length > PIECE_BYTES) this.#rest.unshift(bytes.subarray(PIECE_BYTES));
    this.#isPassing = true;
    this.#pass.call(this.#connection, bytes.subarray(0, PIECE_BYTES));
    this.#isPassing = false;
    if (this.#rest.length === 0) joinParts(this.#receiver);
  };
}
