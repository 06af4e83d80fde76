import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import type { TestGateway } from '../../support/gateway.ts';

interface SocketEnd {
  readonly code: number;
  readonly reason: string;
}

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
  readonly closed: Promise<SocketEnd>;
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
  const closed = new Promise<SocketEnd>((resolve) => {
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

/** Asserts that the sockets are closed as soon as the gateway promises it for the sockets of a revoked key. */
export async function endsOf(callers: readonly Caller[]): Promise<SocketEnd[]> {
  let count = 0;
  for (const { closed } of callers) void closed.then(() => count++);
  await eventually(() => count === callers.length, SOON_MS);
  return Promise.all(callers.map(({ closed }) => closed));
}
