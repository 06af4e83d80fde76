import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { SocketMemory } from './socket-memory.ts';

/** From the first check that finds a message incomplete to its last byte. */
const MESSAGE_TIMEOUT_MS = 30_000;
/** Smaller parts of a message are not timed. */
const IGNORED_BYTES = 65_536;
/** Size of a control frame without its payload. */
const CONTROL_FRAME_BYTES = 6;
/** Fragments of one message. */
export const MAX_FRAGMENTS = 4_096;
/** Smaller chunks are joined: each takes some 250 bytes, and keeps all that was read with it, even for one byte. */
const JOINED_BELOW_BYTES = 65_536;
const MAX_SMALL_CHUNKS = 32;

/** The members of ws's receiver that hold an incomplete message (ws 8.21, lib/receiver.js). */
interface Receiver extends Pick<Writable, '_write'> {
  /** Fragments of the message. */
  _fragments: Buffer[];
  /** Bytes of the incomplete fragment, as they were read. */
  _buffers: Buffer[];
  _maxFragments: number;
}

/**
 * Bounds an incomplete message of one socket, which ws buffers: joins its small parts, accounts its bytes, and reports a
 * message that takes more than 30 s.
 */
export class FragmentedMessage {
  readonly #connection: Socket;
  readonly #receiver: Receiver;
  readonly #memory: SocketMemory;
  /** `bytesRead` of the connection when the last message was complete. */
  #startBytes: number;
  #startedAt = performance.now();

  constructor(socket: WebSocket, connection: Socket, memory: SocketMemory) {
    this.#connection = connection;
    this.#receiver = (socket as unknown as { readonly _receiver: Receiver })._receiver;
    this.#memory = memory;
    this.#startBytes = connection.bytesRead;
    const write = this.#receiver._write.bind(this.#receiver);
    this.#receiver._write = (...args) => {
      write(...args);
      this.#joinParts();
    };
  }

  /** To be called for each complete message. */
  finished(): void {
    this.#startBytes = this.#connection.bytesRead;
    this.#receiver._maxFragments = MAX_FRAGMENTS;
  }

  #joinParts(): void {
    const receiver = this.#receiver;
    const { _fragments: fragments, _buffers: buffers } = receiver;
    if (fragments.length > 0) {
      receiver._fragments = joinSmall(fragments);
      // The joined ones count, too. 0 would be no limit.
      receiver._maxFragments = Math.max(1, receiver._maxFragments - (fragments.length - receiver._fragments.length));
    }
    if (buffers.length > 0) receiver._buffers = joinSmall(buffers);
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

/** Joins the last small chunks into one with memory of its own, if they are many or keep much more than their bytes. */
function joinSmall(chunks: Buffer[]): Buffer[] {
  let [from, bytes, keptBytes] = [chunks.length, 0, 0];
  for (; from > 0; from--) {
    const { length, buffer } = chunks[from - 1] as Buffer;
    if (length >= JOINED_BELOW_BYTES) break;
    bytes += length;
    keptBytes += buffer.byteLength;
  }
  const small = chunks.slice(from);
  if (small.length <= MAX_SMALL_CHUNKS && keptBytes <= 2 * bytes + JOINED_BELOW_BYTES / 4) return chunks;
  const joined = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const chunk of small) at += chunk.copy(joined, at);
  return [...chunks.slice(0, from), joined];
}
