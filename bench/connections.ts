import { once } from 'node:events';
import { connect } from 'node:net';
import { HttpFrames } from './http-frames.ts';
import { openSocket, sendText } from './socket-frames.ts';

/** A client connection with at most one message in progress. */
export interface Connection {
  send(body: string): void;
  close(): void;
}

export interface ConnectionHandler {
  onResponse(body: string): void;
  /** The connection cannot be used any more. */
  onFailure(): void;
}

/** @param next returns the path of the next request */
export async function openHttp(port: number, next: () => string, handler: ConnectionHandler): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const failed = (): void => {
    socket.destroy();
    handler.onFailure();
  };
  const frames = new HttpFrames((_head, body) => {
    handler.onResponse(body);
  }, failed);
  socket.on('data', (chunk) => {
    frames.feed(chunk);
  });
  socket.once('error', failed).once('end', failed);
  const host = `Host: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: `;
  return {
    send: (body) => {
      socket.write(`POST ${next()} HTTP/1.1\r\n${host}${body.length}\r\n\r\n${body}`, 'latin1');
    },
    close: () => socket.off('end', failed).off('error', failed).on('error', ignore).destroy(),
  };
}

export async function openWebSocket(port: number, path: string, handler: ConnectionHandler): Promise<Connection> {
  const socket = await openSocket(port, path.replace('/v3/', '/ws/v3/'), (text) => {
    handler.onResponse(text);
  });
  const failed = (): void => {
    socket.destroy();
    handler.onFailure();
  };
  socket.once('error', failed).once('end', failed);
  return {
    send: (body) => {
      sendText(socket, body);
    },
    close: () => socket.off('end', failed).off('error', failed).on('error', ignore).destroy(),
  };
}

function ignore(): void {
  // The connection was closed intentionally.
}
