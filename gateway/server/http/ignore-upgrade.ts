import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

export function isWebSocketUpgrade(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Serves a request as if it had no Upgrade header, which RFC 9110 §7.8 allows: `curl --http2` and Java's client
 * request h2c with every first call. Node passes all upgrades to its listener (`shouldUpgradeCallback` needs Node 24).
 * So the request is put back into its connection without the header, and the connection is parsed anew.
 */
export function serveIgnoringUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[index + 1] ?? ''}\r\n`;
  }
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(`${text}\r\n`, 'latin1'));
  server.emit('connection', socket);
}
