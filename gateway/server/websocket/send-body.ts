import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { BufferList, byteLengthOf, type Body } from '../../jsonrpc/buffer-list.ts';
import { turnWrites } from './turn-writes.ts';

/**
 * Sends one message. A list of buffers is sent in fragments (RFC 6455 §5.4), so that it is not copied.
 * @param connection under the socket
 */
export function sendBody(socket: WebSocket, connection: Socket, body: Body): void {
  turnWrites.hold(connection, byteLengthOf(body));
  if (!(body instanceof BufferList)) {
    socket.send(body, { binary: false });
    return;
  }
  // In one step: no other message may be sent between the fragments of one.
  const last = body.buffers.length - 1;
  for (const [index, fragment] of body.buffers.entries()) socket.send(fragment, { binary: false, fin: index === last });
}
