import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { turnBudget } from '../../event-loop/turn-budget.ts';
import type { SocketMemory } from './socket-memory.ts';

/** Frames of one piece: some 0.2 ms, if each is a message that Gatehouse rejects. */
const MAX_FRAMES = 16;

/** Opcode of the frame after which ws reads nothing more. */
const CLOSE = 8;

/**
 * Passes the bytes of a socket's connection to ws a few frames at a time, within the budget of the turn: one read has up
 * to 10,000 frames, which ws would handle at once. While frames wait, the connection is not read.
 */
export class FrameTurns {
  readonly #socket: WebSocket;
  readonly #connection: Socket;
  readonly #memory: SocketMemory;
  readonly #owner: () => string;
  /** The listener of ws. */
  readonly #pass: (bytes: Buffer) => void;
  readonly #scan = new FrameScan();
  /** Bytes that wait. */
  #rest: Buffer[] = [];
  #isWaiting = false;
  #isPassing = false;
  #hasEnded = false;
  #resumesAt = 0;

  /** @param owner who is charged: the account of the key */
  constructor(socket: WebSocket, connection: Socket, memory: SocketMemory, owner: () => string) {
    this.#socket = socket;
    this.#connection = connection;
    this.#memory = memory;
    this.#owner = owner;
    this.#pass = connection.listeners('data').at(-1) as (bytes: Buffer) => void;
    connection.on('data', (bytes: Buffer) => {
      if (this.#hasEnded) return;
      this.#rest.push(bytes);
      this.#continue();
    });
    connection.off('data', this.#pass);
    connection.on('resume', () => {
      if (this.#isWaiting) connection.pause();
      else if (this.#rest.length > 0 && !this.#isPassing) this.#continue();
    });
    const end = this.#end.bind(this);
    connection.once('end', end).once('close', end);
    socket.once('error', end);
  }

  /** Reads no further frame for this time, but those of the current piece. */
  delay(ms: number): void {
    this.#resumesAt = performance.now() + ms;
  }

  readonly #resume = (): void => {
    this.#isWaiting = false;
    this.#memory.frameBytes = 0;
    this.#continue();
    // ws may have paused it, too: its messages wait.
    if (this.#rest.length === 0 && !this.#socket.isPaused) this.#connection.resume();
  };

  #continue(): void {
    if (this.#isWaiting || this.#isPassing) return;
    while (this.#rest.length > 0) {
      // `resume` continues.
      if (this.#socket.isPaused) return;
      const restMs = this.#resumesAt - performance.now();
      if (restMs > 0) {
        this.#wait();
        setTimeout(this.#resume, restMs).unref();
        return;
      }
      const owner = this.#owner();
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
    this.#memory.frameBytes = this.#rest.reduce((sum, { length }) => sum + length, 0);
    this.#memory.update();
  }

  readonly #passPiece = (): void => {
    const bytes = this.#rest.shift() as Buffer;
    const end = this.#scan.end(bytes, MAX_FRAMES);
    if (end < bytes.length && !this.#scan.hasClosed) this.#rest.unshift(bytes.subarray(end));
    this.#isPassing = true;
    this.#pass.call(this.#connection, end === bytes.length ? bytes : bytes.subarray(0, end));
    this.#isPassing = false;
    if (this.#scan.hasClosed) this.#end();
  };

  #end(): void {
    this.#hasEnded = true;
    this.#rest = [];
    if (this.#memory.frameBytes === 0) return;
    this.#memory.frameBytes = 0;
    this.#memory.update();
  }
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
