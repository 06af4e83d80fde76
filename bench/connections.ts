import { once } from 'node:events';
import { connect } from 'node:net';
import { HttpFrames } from './http-frames.ts';
import { openSocket, sendText } from './socket-frames.ts';

/** A connection with at most one message under way. */
export interface Connection {
  send(body: string): void;
  close(): void;
}

export interface Listener {
  answered(body: string): void;
  /** It is of no more use. */
  failed(): void;
}

/** @param next the path of each request in turn */
export async function openHttp(port: number, next: () => string, listener: Listener): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const failed = (): void => {
    socket.destroy();
    listener.failed();
  };
  const frames = new HttpFrames((_head, body) => {
    listener.answered(body);
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

export async function openWebSocket(port: number, path: string, listener: Listener): Promise<Connection> {
  const socket = await openSocket(port, path.replace('/v3/', '/ws/v3/'), (text) => {
    listener.answered(text);
  });
  const failed = (): void => {
    socket.destroy();
    listener.failed();
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
  // It was closed on purpose.
}
