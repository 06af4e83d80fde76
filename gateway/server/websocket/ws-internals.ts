import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/*
 * The only file that uses what ws does not document. It was tested with ws 8.21.0. test/server/websocket/ws-internals.test.ts
 * holds for each member.
 */

/** Fragments of one message. */
export const MAX_FRAGMENTS = 4_096;
/** Smaller chunks are joined: each takes some 250 bytes, and keeps all that was read with it, even for one byte. */
const JOINED_BELOW_BYTES = 65_536;
const MAX_SMALL_CHUNKS = 32;

/** The members of ws's receiver that hold an incomplete message (lib/receiver.js). */
export interface Receiver {
  /** Fragments of the message. */
  _fragments: Buffer[];
  /** Bytes of the incomplete fragment, as they were read. */
  _buffers: Buffer[];
  /** Bytes in both. */
  readonly _messageLength: number;
  readonly _bufferedBytes: number;
  _maxFragments: number;
  /** Whether it reads further frames. */
  readonly writable: boolean;
}

export function receiverOf(socket: WebSocket): Receiver {
  return (socket as unknown as { readonly _receiver: Receiver })._receiver;
}

/** Replaces the listener by which ws reads a connection. @returns that listener, which must be called with the connection as `this` */
export function replaceReader(connection: Socket, reader: (bytes: Buffer) => void): (bytes: Buffer) => void {
  const ofWs = connection.listeners('data').at(-1) as (bytes: Buffer) => void;
  connection.on('data', reader).off('data', ofWs);
  return ofWs;
}

/** Joins the small parts of an incomplete message. */
export function joinParts(receiver: Receiver): void {
  const { _fragments: fragments, _buffers: buffers } = receiver;
  if (fragments.length > 0) {
    receiver._fragments = joinSmall(fragments);
    // The joined ones count, too. 0 would be no limit.
    receiver._maxFragments = Math.max(1, receiver._maxFragments - (fragments.length - receiver._fragments.length));
  }
  if (buffers.length > 0) receiver._buffers = joinSmall(buffers);
}

/** Bytes of the message that is not complete. */
export function incompleteBytes({ _messageLength: fragmentBytes, _bufferedBytes: otherBytes }: Receiver): number {
  return fragmentBytes + otherBytes;
}

/** Notes the end of a message. To be called for each complete one. */
export function messageEnded(receiver: Receiver): void {
  receiver._maxFragments = MAX_FRAGMENTS;
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
