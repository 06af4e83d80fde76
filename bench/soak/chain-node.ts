import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { clock } from '../../gateway/clock/clock.ts';
import { startFaultProxy, type ConnectionFault, type FaultProxy } from '../../test/faults/fault-proxy.ts';
import type { Random } from '../random.ts';
import { headerObject } from './block-objects.ts';
import { respond, type NodeView } from './node-responses.ts';

/** Listener for each call that a node gets. @param client `/name` of the gateway @param index of the node behind the URL */
export type OnNodeCall = (index: number, client: string, call: RpcCall, response: object) => void;

export interface RpcCall {
  readonly id: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** Most responses take up to 20 ms, some up to 400 ms, so that older ones arrive after newer ones. */
const USUAL_MS = 20;
const SLOW_MS = 400;
const SLOW_SHARE = 0.03;

/** A URL of a network: here a server of this process, in the simulation a transport in memory. */
export interface ChainServer {
  /** Identifies the URL. */
  readonly port: number;
  /** Whether new heads are not sent to subscribers. */
  isMuted: boolean;
  /** Sets the fault of all connections. Undefined ends it. */
  fail(fault: ConnectionFault | undefined): Promise<void>;
  /** Sends the head to subscribers. */
  announce(view: NodeView): void;
  close(): Promise<void>;
}

/** The nodes behind one URL, which take turns. */
export class RespondingNodes {
  readonly #chainId: number;
  readonly #views: readonly NodeView[];
  readonly #onCall: OnNodeCall;
  #next = 0;
  #ids = 0;

  constructor(chainId: number, views: readonly NodeView[], onCall: OnNodeCall) {
    this.#chainId = chainId;
    this.#views = views;
    this.#onCall = onCall;
  }

  /** @param ids of the subscriptions of a WebSocket; undefined over HTTP @returns the response object */
  respondTo(call: RpcCall, client: string, ids: Set<string> | undefined): object {
    const { id, method, params = [] } = call;
    const envelope = { jsonrpc: '2.0', id };
    if (ids !== undefined && method === 'eth_subscribe' && params[0] === 'newHeads') {
      const subscription = `0x${(++this.#ids).toString(16)}`;
      ids.add(subscription);
      return { ...envelope, result: subscription };
    }
    if (ids !== undefined && method === 'eth_unsubscribe') {
      return { ...envelope, result: ids.delete(String(params[0])) };
    }
    const index = this.#next++ % this.#views.length;
    const response = respond(this.#chainId, this.#views[index] as NodeView, method, params);
    this.#onCall(index, client, call, response);
    return { ...envelope, ...response };
  }
}

/** The message about a head. As geth after a reorg or a restart, the node omits the blocks before it. */
export function notificationOf(subscription: string, { head }: NodeView): string {
  const params = { subscription, result: headerObject(head) };
  return JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params });
}

/** How long a node takes to send a response. */
export function responseDelayMs(random: Random): number {
  return random.between(0, random.next() < SLOW_SHARE ? SLOW_MS : USUAL_MS);
}

/** A URL with one node, or with several that take turns, as behind a load balancer. Over HTTP and WebSocket. */
export class ChainNode implements ChainServer {
  isMuted = false;
  readonly #nodes: RespondingNodes;
  readonly #random: Random;
  readonly #server: Server;
  readonly #webSockets = new WebSocketServer({ noServer: true });
  readonly #subscriptions = new Map<WebSocket, Set<string>>();
  #proxy: FaultProxy | undefined;

  private constructor(nodes: RespondingNodes, random: Random) {
    this.#nodes = nodes;
    this.#random = random;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void this.#respondTo(Buffer.concat(chunks).toString(), request.url ?? '', (text) => {
          response.writeHead(200, { 'content-type': 'application/json' }).end(text);
        });
      });
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        this.#open(webSocket, request.url ?? '');
      });
    });
  }

  static async start(
    chainId: number,
    views: readonly NodeView[],
    random: Random,
    onCall: OnNodeCall,
  ): Promise<ChainNode> {
    const node = new ChainNode(new RespondingNodes(chainId, views, onCall), random);
    node.#server.listen(0, '127.0.0.1');
    await once(node.#server, 'listening');
    node.#proxy = await startFaultProxy((node.#server.address() as AddressInfo).port);
    return node;
  }

  get port(): number {
    return this.#proxy?.port ?? 0;
  }

  async fail(fault: ConnectionFault | undefined): Promise<void> {
    await this.#proxy?.fail(fault);
  }

  announce(view: NodeView): void {
    if (this.isMuted) return;
    for (const [webSocket, ids] of this.#subscriptions)
      for (const subscription of ids) webSocket.send(notificationOf(subscription, view));
  }

  async close(): Promise<void> {
    await this.#proxy?.close();
    for (const webSocket of this.#subscriptions.keys()) webSocket.terminate();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #open(webSocket: WebSocket, client: string): void {
    const ids = new Set<string>();
    this.#subscriptions.set(webSocket, ids);
    webSocket.on('close', () => this.#subscriptions.delete(webSocket));
    webSocket.on('error', () => {
      webSocket.terminate();
    });
    webSocket.on('message', (data) => {
      void this.#respondTo(
        (data as Buffer).toString(),
        `${client} (WebSocket)`,
        (text) => {
          webSocket.send(text);
        },
        ids,
      );
    });
  }

  /** @param ids of the subscriptions of a WebSocket */
  async #respondTo(body: string, client: string, send: (text: string) => void, ids?: Set<string>): Promise<void> {
    const calls = JSON.parse(body) as RpcCall | RpcCall[];
    // Responses are made before the delay, so that they are older than those of faster calls.
    const respondTo = (call: RpcCall): object => this.#nodes.respondTo(call, client, ids);
    const responses = Array.isArray(calls) ? calls.map(respondTo) : respondTo(calls);
    await clock.sleep(responseDelayMs(this.#random));
    send(JSON.stringify(responses));
  }
}
