import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { clock } from '../../clock/clock.ts';
import type { KeyAccess } from '../../auth/key-access.ts';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { SocketBuffers } from './socket-buffers.ts';
import { joinParts, messageEnded, type Receiver, receiverOf, replaceReader } from './ws-internals.ts';

/** Frames of one piece: some 0.2 ms, if each is a message that Gatehouse rejects. */
const MAX_FRAMES = 16;
/** Time from the first check that finds a message incomplete to its last byte. */
const MESSAGE_TIMEOUT_MS = 30_000;
/** Smaller parts of a message are not timed. */
const IGNORED_BYTES = 65_536;
/** Size of a control frame without its payload. */
const CONTROL_FRAME_BYTES = 6;
/** Opcode of the frame after which ws reads nothing more. */
const CLOSE = 8;

/**
 * Reads the frames of one socket. The bytes of its connection are passed to ws a few frames at a time, within the budget of
 * the turn: one read has up to 10,000 frames, which ws would handle at once. While frames wait, the connection is not read.
 * Bounds the incomplete message, which ws buffers: joins its small parts, and reports one that takes more than 30 s.
 */
export class SocketFrames {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #buffers: SocketBuffers;
  readonly #key: { readonly access: KeyAccess };
  /** The listener of ws. */
  readonly #pass: (bytes: Buffer) => void;
  readonly #receiver: Receiver;
  readonly #scan = new FrameScan();
  /** Bytes that wait. */
  #rest: Buffer[] = [];
  #isWaiting = false;
  #isPassing = false;
  #hasEnded = false;
  #resumesAt = 0;
  /** `bytesRead` of the connection when the last message was complete. */
  #startBytes: number;
  #startedAt = clock.now();

  /** @param key its account is charged */
  constructor(socket: WebSocket, connection: Socket, buffers: SocketBuffers, key: { readonly access: KeyAccess }) {
    this.#socket = socket;
    this.#connection = connection;
    this.#buffers = buffers;
    this.#key = key;
    this.#startBytes = connection.bytesRead;
    this.#receiver = receiverOf(socket);
    this.#pass = replaceReader(connection, (bytes) => {
      if (this.#hasEnded) return;
      this.#rest.push(bytes);
      this.#continue();
    });
    connection.on('resume', () => {
      if (this.#isWaiting) connection.pause();
      else if (this.#rest.length > 0 && !this.#isPassing) this.#continue();
    });
    connection.once('end', this.#end).once('close', this.#end);
    socket.once('error', this.#end);
  }

  /** Reads no further frame for this time, but those of the current piece. */
  delay(ms: number): void {
    this.#resumesAt = clock.now() + ms;
  }

  /** Notes the end of a message. To be called for each complete one. */
  messageEnded(): void {
    this.#startBytes = this.#connection.bytesRead;
    messageEnded(this.#receiver);
  }

  /** Excludes a ping or pong, which may arrive within a message. */
  skipControlFrame(controlFrame: Buffer): void {
    this.#startBytes += CONTROL_FRAME_BYTES + controlFrame.length;
  }

  /** @returns why the socket must be closed, or undefined */
  checkMessage(now: number): 'overloaded' | 'slow-message' | undefined {
    const bytes = this.#socket.isPaused ? 0 : this.#connection.bytesRead - this.#startBytes;
    this.#buffers.set('incomplete', bytes);
    if (bytes <= IGNORED_BYTES) {
      this.#startedAt = now;
      return undefined;
    }
    if (this.#buffers.isExhausted) return 'overloaded';
    return now - this.#startedAt > MESSAGE_TIMEOUT_MS ? 'slow-message' : undefined;
  }

  readonly #resume = (): void => {
    this.#isWaiting = false;
    this.#buffers.set('frames', 0);
    this.#continue();
    // ws may have paused it, too: its messages wait.
    if (this.#rest.length === 0 && !this.#socket.isPaused) this.#connection.resume();
  };

  #continue(): void {
    if (this.#isWaiting || this.#isPassing) return;
    while (this.#rest.length > 0) {
      // `resume` continues.
      if (this.#socket.isPaused) return;
      const restMs = this.#resumesAt - clock.now();
      if (restMs > 0) {
        this.#wait();
        clock.setTimeout(this.#resume, restMs).unref();
        return;
      }
      const owner = this.#key.access.account.payer.name;
      if (!turnBudget.mayRun(owner)) {
        this.#wait();
        turnBudget.wait(owner, this.#resume);
        return;
      }
      turnBudget.run(owner, this.#passPiece);
    }
  }

  #wait(): void {
    this.#isWaiting = true;
    this.#connection.pause();
    this.#buffers.set(
      'frames',
      this.#rest.reduce((sum, { length }) => sum + length, 0),
    );
  }

  readonly #passPiece = (): void => {
    const bytes = this.#rest.shift() as Buffer;
    const end = this.#scan.end(bytes, MAX_FRAMES);
    if (end < bytes.length && !this.#scan.hasClosed) this.#rest.unshift(bytes.subarray(end));
    this.#isPassing = true;
    this.#pass.call(this.#connection, end === bytes.length ? bytes : bytes.subarray(0, end));
    this.#isPassing = false;
    joinParts(this.#receiver);
    if (this.#scan.hasClosed) this.#end();
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    this.#rest = [];
  };
}

/** Counts frames in the bytes of a client (RFC 6455 §5.2). A frame and its header may be split anywhere. */
export class FrameScan {
  /** Whether a close frame has begun and ended. */
  hasClosed = false;
  /** Bytes of the payload that are still to come. */
  #payloadBytes = 0;
  #opcode = 0;
  /** Bytes of the header read so far, and those that it has, as far as they show. */
  #headerAt = 0;
  #headerBytes = 2;
  #lengthEnd = 2;
  #length = 0;

  /** @returns the position in the bytes after so many frames, or after the first close frame, or their end */
  end(bytes: Buffer, maxFrames: number): number {
    let at = 0;
    for (let frames = 0; frames < maxFrames && at < bytes.length && !this.hasClosed; frames++) {
      while (this.#headerAt < this.#headerBytes && at < bytes.length) this.#readHeader(bytes[at++] as number);
      if (this.#headerAt < this.#headerBytes) break;
      const taken = Math.min(this.#payloadBytes, bytes.length - at);
      at += taken;
      this.#payloadBytes -= taken;
      if (this.#payloadBytes > 0) break;
      this.hasClosed = this.#opcode === CLOSE;
      this.#headerAt = 0;
      this.#headerBytes = 2;
    }
    return at;
  }

  #readHeader(byte: number): void {
    const at = this.#headerAt++;
    if (at === 0) this.#opcode = byte & 15;
    else if (at === 1) {
      const length = byte & 127;
      this.#lengthEnd = length < 126 ? 2 : length === 126 ? 4 : 10;
      this.#headerBytes = this.#lengthEnd + (byte >= 128 ? 4 : 0);
      this.#length = length < 126 ? length : 0;
    } else if (at < this.#lengthEnd) this.#length = this.#length * 256 + byte;
    this.#payloadBytes = this.#length;
  }
}
