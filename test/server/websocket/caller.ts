import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import type { TestGateway } from '../../support/gateway.ts';

/** A WebSocket client for tests, which buffers the messages that it receives. */
export interface Caller {
  readonly socket: WebSocket;
  /** Sends each text as a message of its own. */
  send(...texts: string[]): void;
  /** The next message, as text. Rejects when the socket closes without one. */
  next(): Promise<string>;
  /** Sends one call, and waits for the next message. */
  call(method: string, params?: unknown, id?: unknown): Promise<unknown>;
  /** Messages received and not yet returned by `next`. */
  readonly unread: readonly string[];
  readonly closed: Promise<{ code: number; reason: string }>;
}

/** `ws://127.0.0.1:<port>/<slug>/ws/v3/<key>` */
export function socketUrl(gateway: TestGateway, slug: string, key = gateway.key): string {
  return `${gateway.address.replace('http', 'ws')}/${slug}/ws/v3/${key}`;
}

/** @throws Error if the upgrade is rejected: `Unexpected server response: <status>` */
export async function openCaller(url: string, options: ClientOptions = {}): Promise<Caller> {
  const socket = new WebSocket(url, options);
  const unread: string[] = [];
  let wake: () => void = () => undefined;
  socket.on('message', (data) => {
    unread.push((data as Buffer).toString());
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      resolve({ code, reason: reason.toString() });
      wake();
    });
  });
  await once(socket, 'open');
  // `closed` reports how the socket ends.
  socket.on('error', () => undefined);
  const caller: Caller = {
    socket,
    send: (...texts) => {
      for (const text of texts) socket.send(text);
    },
    async next() {
      for (;;) {
        const text = unread.shift();
        if (text !== undefined) return text;
        if (socket.readyState === WebSocket.CLOSED) throw new Error('the socket closed without a message');
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async call(method, params = [], id = 1) {
      caller.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      return JSON.parse(await caller.next()) as unknown;
    },
    unread,
    closed,
  };
  return caller;
}
