import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

export function isWebSocketUpgrade(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Serves a request as if it had asked for no upgrade, as a server may (RFC 9110 §7.8): `curl --http2` and Java's client
 * ask for h2c on every first call. Node leaves no choice once somebody listens for upgrades (`shouldUpgradeCallback` came
 * with Node 24): so the request is put back into its connection without the header, and the connection begins anew.
 */
export function serveIgnoringUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[at + 1] ?? ''}\r\n`;
  }
  if (head.length > 0) socket.unshift(head);
  socket.unshift(Buffer.from(`${text}\r\n`, 'latin1'));
  server.emit('connection', socket);
}
