import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { probes } from './fake-node.ts';
import { WebSocketServer, type WebSocket } from 'ws';

/** A node over WebSocket that says what a test tells it to. See `startFakeWebSocketNode`. */
export interface FakeWebSocketNode {
  readonly url: string;
  /** Every call that arrived, oldest first, those of the gateway's own probes included. */
  readonly calls: ReceivedCall[];
  /** The headers and the path of every handshake, refused ones included. */
  readonly handshakes: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Connections that are open now. */
  readonly sockets: ReadonlySet<WebSocket>;
  /** What is done with a call from now on; undefined: as usual again. Probes are answered as usual all the same. */
  onCall(behaviour: ((call: ReceivedCall) => void) | undefined): void;
  /** Handshakes are refused with this HTTP status from now on, left open for 0, accepted again for undefined. */
  rejectUpgradesWith(status: number | undefined): void;
  /** Stops listening and cuts every connection; `listen` takes the same port. */
  stop(): Promise<void>;
  listen(): Promise<void>;
}

export interface ReceivedCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly socket: WebSocket;
  /** As a good node does: `0x` and the second parameter as 32 bytes. */
  readonly respond: () => void;
  /** Sends any text in place of the reply. */
  readonly sendText: (text: string) => void;
}

/** Answers `eth_chainId`, `eth_getBlockByNumber`, and `eth_getStorageAt` with the position that was asked for. */
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
    socket.on('error', () => undefined); // cut off from either side
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse((data as Buffer).toString()) as ReceivedCall;
      const sendText = (text: string): void => {
        socket.send(text);
      };
      const respond = (): void => {
        sendText(JSON.stringify({ jsonrpc: '2.0', id, result: fetchResult(chainId, method, params) }));
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

function fetchResult(chainId: number, method: string, params: readonly unknown[]): unknown {
  if (method === 'eth_chainId') return `0x${chainId.toString(16)}`;
  if (method === 'eth_getBlockByNumber') return { number: '0x10', gasLimit: '0x1c9c380' };
  if (method === 'eth_subscribe') return '0x1';
  if (method === 'eth_unsubscribe') return true;
  return `0x${BigInt(String(params[1])).toString(16).padStart(64, '0')}`;
}
