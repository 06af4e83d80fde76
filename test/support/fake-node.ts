import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asUsual, type Behaviour, type Exchange } from './behaviours.ts';

/** An HTTP node with responses and faults that a test sets. See `startFakeNode`. */
export interface FakeNode {
  readonly url: string;
  /** All received calls, oldest first, including the gateway's own probes. */
  readonly calls: RecordedCall[];
  /** The client ports of the open connections. */
  connections(): number[];
  /** The calls of one method. */
  callsOf(method: string): RecordedCall[];
  /** Sets the response of a method: a result, `rpcError(…)`, or a function of the parameters that returns either. */
  response(method: string, response: RpcResponse): void;
  /**
   * Sets the behaviour for the next call. Further behaviours are queued. A call of a method in `probes` takes one only if
   * `method` names it.
   */
  next(behaviour: Behaviour, method?: string): void;
  /** Sets the behaviour for all calls of `method`, or for all except `probes`. Undefined restores normal responses. */
  always(behaviour: Behaviour | undefined, method?: string): void;
  /** Stops listening and destroys all connections. New connections are refused until `listen`, on the same port. */
  refuse(): Promise<void>;
  listen(): Promise<void>;
  close(): Promise<void>;
}

export interface RecordedCall {
  readonly method: string;
  readonly params: unknown;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The client's port, which is the same for all calls of a connection. */
  readonly connection: number;
}

/** A JSON value, `rpcError(…)`, or a function of the parameters that returns either. */
export type RpcResponse = unknown;

/** Methods that the gateway also calls for its own purposes, independently of clients. */
export const probes: readonly string[] = ['eth_chainId', 'eth_getBlockByNumber', 'eth_subscribe', 'eth_unsubscribe'];

interface SentCall {
  readonly id: unknown;
  readonly method: string;
  readonly params: unknown;
}

/** Marks a response as a JSON-RPC error. It is a class, so that no JSON result can be mistaken for one. */
class RpcErrorResponse {
  readonly error: object;

  constructor(error: object) {
    this.error = error;
  }
}

/** A response that is a JSON-RPC error. */
export function rpcError(code: number, message: string, data?: unknown): RpcResponse {
  return new RpcErrorResponse({ code, message, ...(data === undefined ? {} : { data }) });
}

/**
 * Starts a fake node on a free loopback port. It has responses for `eth_chainId`, `eth_getBlockByNumber` (a small block)
 * and the methods in `responses`. All other methods get -32601.
 */
export async function startFakeNode({
  chainId,
  responses: initialResponses = {},
  onCall,
}: {
  chainId: number;
  responses?: Record<string, RpcResponse>;
  onCall?: (call: RecordedCall) => void;
}): Promise<FakeNode> {
  const calls: RecordedCall[] = [];
  const responseOf = new Map<string, RpcResponse>([
    ['eth_chainId', `0x${chainId.toString(16)}`],
    ['eth_getBlockByNumber', { number: '0x10', gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] }],
    ...Object.entries(initialResponses),
  ]);
  const queue: { behaviour: Behaviour; method: string | undefined }[] = [];
  const behaviourOf = new Map<string | undefined, Behaviour | undefined>();

  function behaviourFor(method: string): Behaviour {
    const isProbe = probes.includes(method);
    const at = queue.findIndex((entry) => entry.method === method || (entry.method === undefined && !isProbe));
    const [queued] = at === -1 ? [] : queue.splice(at, 1);
    return (
      queued?.behaviour ?? behaviourOf.get(method) ?? (isProbe ? undefined : behaviourOf.get(undefined)) ?? asUsual
    );
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const sent = JSON.parse(body) as SentCall | SentCall[];
      const { url: path = '', headers, socket } = request;
      const receive = ({ id, method, params }: SentCall): Exchange['upstreamResponse'] => {
        const call = { method, params, path, headers, body, connection: socket.remotePort ?? 0 };
        calls.push(call);
        onCall?.(call);
        return { jsonrpc: '2.0', id, ...outcome(responseOf, method, params) };
      };
      // A batch gets the behaviour of its first call.
      const [first] = [sent].flat();
      const responses = Array.isArray(sent) ? sent.map(receive) : receive(sent);
      const [upstreamResponse] = [responses].flat();
      if (first === undefined || upstreamResponse === undefined) return;
      void behaviourFor(first.method)({ id: first.id, response, upstreamResponse, text: JSON.stringify(responses) });
    });
  });

  const open = new Set<number>();
  server.on('connection', (socket) => {
    const { remotePort = 0 } = socket;
    open.add(remotePort);
    socket.once('close', () => open.delete(remotePort));
  });
  let port = 0;
  async function listen(): Promise<void> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }
  async function refuse(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
  await listen();

  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    connections: () => [...open],
    callsOf: (method) => calls.filter((call) => call.method === method),
    response: (method, response) => void responseOf.set(method, response),
    next: (behaviour, method) => void queue.push({ behaviour, method }),
    always: (behaviour, method) => void behaviourOf.set(method, behaviour),
    refuse,
    listen,
    close: refuse,
  };
}

function outcome(
  responses: Map<string, RpcResponse>,
  method: string,
  params: unknown,
): { result: unknown } | { error: object } {
  let response = responses.has(method)
    ? responses.get(method)
    : rpcError(-32601, `the method ${method} does not exist/is not available`);
  if (typeof response === 'function') response = (response as (params: unknown) => unknown)(params);
  return response instanceof RpcErrorResponse ? { error: response.error } : { result: response };
}
