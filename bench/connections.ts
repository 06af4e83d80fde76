import { once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import { HttpFrames } from './http-frames.ts';

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
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path.replace('/v3/', '/ws/v3/')}`);
  await once(socket, 'open');
  const failed = (): void => {
    listener.failed();
  };
  socket.on('message', (data) => {
    listener.answered((data as Buffer).toString('latin1'));
  });
  socket.once('error', failed).once('close', failed);
  return {
    send: (body) => {
      socket.send(body);
    },
    close: () => {
      socket.off('close', failed).off('error', failed).on('error', ignore).terminate();
    },
  };
}

function ignore(): void {
  // It was closed on purpose.
}
