import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Block, ScriptedChain } from './scripted-chain.ts';

/** A node that serves a scripted chain over WebSocket and sends newHeads notifications. */
export interface ChainNode {
  readonly url: string;
  /** Closes every connection, and rejects new ones until `listen`. */
  stop(): Promise<void>;
  listen(): Promise<void>;
  readonly isListening: boolean;
  /** Number of subscriptions to new heads. */
  readonly subscribers: number;
  /** The received calls of one method. */
  callsOf(method: string): Call[];
  /** Sets the response of a method: a function that returns, or resolves to, a result or `rpcError(…)`. */
  response(method: string, response: (params: readonly unknown[]) => unknown): void;
}

type Responses = Record<string, (params: readonly unknown[]) => unknown>;

/** @param notificationOf returns the newHeads notification of a header */
export async function startChainNode(
  chainId: number,
  chain: ScriptedChain,
  notificationOf: (header: Block['header']) => object = (header) => header,
): Promise<ChainNode> {
  const responses = { ...chain.responses() } as Responses;
  const subscribers = new Set<WebSocket>();
  const connections = new Set<Socket>();
  const calls: Call[] = [];
  let server: Server | undefined;
  let port = 0;
  const webSockets = new WebSocketServer({ noServer: true });
  webSockets.on('connection', (socket) => {
    socket.on('error', () => undefined); // closed by `stop`
    socket.on('close', () => subscribers.delete(socket));
    socket.on('message', (data) => {
      const call = JSON.parse((data as Buffer).toString()) as Call;
      calls.push(call);
      void respond(call, socket);
    });
  });
  const respond = async ({ id, method, params }: Call, socket: WebSocket): Promise<void> => {
    const response = await responseOf(method, params);
    if (method === 'eth_subscribe') subscribers.add(socket);
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...response }));
  };
  const responseOf = async (method: string, params: readonly unknown[]): Promise<object> => {
    if (method === 'eth_chainId' && responses[method] === undefined) return { result: `0x${chainId.toString(16)}` };
    if (method === 'eth_subscribe') return { result: '0x1' };
    const result = await responses[method]?.(params);
    if (result === undefined) return { result: null };
    return typeof result === 'object' && result !== null && 'error' in result ? result : { result };
  };
  chain.onBlock(({ header }: Block) => {
    const params = { subscription: '0x1', result: notificationOf(header) };
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params });
    for (const socket of subscribers) socket.send(text);
  });
  const listen = async (): Promise<void> => {
    server = createServer((_, response) => response.writeHead(426).end());
    server.on('connection', (connection) => {
      connections.add(connection);
      connection.on('close', () => connections.delete(connection));
    });
    server.on('upgrade', (request, socket, head) => {
      webSockets.handleUpgrade(request, socket, head, (opened) => webSockets.emit('connection', opened));
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  await listen();
  return {
    url: `ws://127.0.0.1:${port}`,
    listen,
    async stop() {
      if (server?.listening !== true) return;
      const closed = once(server, 'close');
      server.close();
      for (const connection of connections) connection.destroy();
      subscribers.clear();
      await closed;
    },
    get isListening() {
      return server?.listening === true;
    },
    get subscribers() {
      return subscribers.size;
    },
    callsOf: (method) => calls.filter((call) => call.method === method),
    response: (method, response) => {
      responses[method] = response;
    },
  };
}

export interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A network file with these nodes as upstreams. */
export function chainNetwork(chainId: number, nodes: readonly ChainNode[]): object {
  return {
    name: `Test ${chainId}`,
    chainId,
    upstreams: nodes.map(({ url }, index) => ({ name: `node-${index}`, websocketUrl: url })),
  };
}
