import type { WebSocket } from 'ws';
import { BufferList, type Body } from '../../jsonrpc/buffer-list.ts';

/** Sends one message. A list of buffers is sent in fragments (RFC 6455 §5.4), so that it is not copied. */
export function sendBody(socket: WebSocket, body: Body): void {
  if (!(body instanceof BufferList)) {
    socket.send(body, { binary: false });
    return;
  }
  // In one step: no other message may be sent between the fragments of one.
  const last = body.buffers.length - 1;
  for (const [index, fragment] of body.buffers.entries()) socket.send(fragment, { binary: false, fin: index === last });
}
