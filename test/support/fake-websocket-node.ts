import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { probes } from './fake-node.ts';
import { WebSocketServer, type WebSocket } from 'ws';

/** A WebSocket node with responses and faults that a test sets. See `startFakeWebSocketNode`. */
export interface FakeWebSocketNode {
  readonly url: string;
  /** All received calls, oldest first, including the gateway's own probes. */
  readonly calls: ReceivedCall[];
  /** The headers and the path of every upgrade request, including rejected ones. */
  readonly handshakes: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** The open connections. */
  readonly sockets: ReadonlySet<WebSocket>;
  /** Sets the behaviour for calls other than probes. Undefined restores normal responses. */
  onCall(behaviour: ((call: ReceivedCall) => void) | undefined): void;
  /** Rejects upgrades with this HTTP status. 0 leaves them without a response; undefined accepts them again. */
  rejectUpgradesWith(status: number | undefined): void;
  /** Stops listening and destroys all connections. `listen` uses the same port. */
  stop(): Promise<void>;
  listen(): Promise<void>;
}

export interface ReceivedCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly socket: WebSocket;
  /** Sends the normal response: the second parameter as 32 bytes. */
  readonly respond: () => void;
  /** Sends any text instead of the normal response. */
  readonly sendText: (text: string) => void;
}

/** Starts a node that returns the requested position as the value of `eth_getStorageAt`. */
export async function startFakeWebSocketNode(chainId: number): Promise<FakeWebSocketNode> {
  const calls: ReceivedCall[] = [];
  const handshakes: { path: string; headers: IncomingHttpHeaders }[] = [];
  const sockets = new Set<WebSocket>();
  const connections = new Set<Socket>();
  let behaviour: ((call: ReceivedCall) => void) | undefined;
  let rejection: number | undefined;
  let server: Server | undefined;
  let port = 0;

  const webSockets = new WebSocketServer({ noServer: true });
  webSockets.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined); // Either side may destroy the connection.
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse((data as Buffer).toString()) as ReceivedCall;
      const sendText = (text: string): void => {
        socket.send(text);
      };
      const respond = (): void => {
        sendText(JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(chainId, method, params) }));
      };
      const call = { id, method, params, socket, respond, sendText };
      calls.push(call);
      if (behaviour === undefined || probes.includes(method)) respond();
      else behaviour(call);
    });
  });

  async function listen(): Promise<void> {
    server = createServer();
    server.on('connection', (connection) => {
      connections.add(connection);
      connection.on('close', () => connections.delete(connection));
      // Node.js removes its own listener at the upgrade. A client may reset a connection whose handshake hangs.
      connection.on('error', () => undefined);
    });
    server.on('upgrade', (request, socket, head) => {
      handshakes.push({ path: request.url ?? '', headers: request.headers });
      if (rejection === 0) return;
      if (rejection === undefined)
        webSockets.handleUpgrade(request, socket, head, (webSocket) => webSockets.emit('connection', webSocket));
      else socket.end(`HTTP/1.1 ${rejection} No\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno`);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }
  async function stop(): Promise<void> {
    if (server?.listening !== true) return;
    const closed = once(server, 'close');
    server.close();
    for (const connection of connections) connection.destroy();
    await closed;
  }
  await listen();

  return {
    url: `ws://127.0.0.1:${port}`,
    calls,
    handshakes,
    sockets,
    onCall: (given) => void (behaviour = given),
    rejectUpgradesWith: (status) => void (rejection = status),
    stop,
    listen,
  };
}

function resultOf(chainId: number, method: string, params: readonly unknown[]): unknown {
  if (method === 'eth_chainId') return `0x${chainId.toString(16)}`;
  if (method === 'eth_getBlockByNumber') return { number: '0x10', gasLimit: '0x1c9c380' };
  if (method === 'eth_subscribe') return '0x1';
  if (method === 'eth_unsubscribe') return true;
  return `0x${BigInt(String(params[1])).toString(16).padStart(64, '0')}`;
}
