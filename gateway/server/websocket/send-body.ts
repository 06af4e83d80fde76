import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { BufferList, byteLengthOf, type Body } from '../../jsonrpc/buffer-list.ts';
import { turnWrites } from './turn-writes.ts';

/** Longer lists are not copied: about 0.1 ms. Not all clients expect fragments. */
const MAX_JOINED_BYTES = 262_144;

/**
 * Sends one message. A long list of buffers is sent in fragments (RFC 6455 §5.4), so that it is not copied.
 * @param connection under the socket
 */
export function sendBody(socket: WebSocket, connection: Socket, body: Body): void {
  turnWrites.hold(connection, byteLengthOf(body));
  if (!(body instanceof BufferList) || body.length <= MAX_JOINED_BYTES) {
    socket.send(body instanceof BufferList ? body.join() : body, { binary: false });
    return;
  }
  // In one step: no other message may be sent between the fragments of one.
  const last = body.buffers.length - 1;
  for (const [index, fragment] of body.buffers.entries()) socket.send(fragment, { binary: false, fin: index === last });
}
