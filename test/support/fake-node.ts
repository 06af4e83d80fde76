import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { asUsual, type Behaviour, type Exchange } from './behaviours.ts';

/** A node that says what a test tells it to. See `startFakeNode`. */
export interface FakeNode {
  readonly url: string;
  /** Every call that arrived, oldest first, those of the gateway's own probes included. */
  readonly calls: RecordedCall[];
  /** Connections that are open now, by their callers' ports. */
  connections(): number[];
  /** The calls of one method. */
  callsOf(method: string): RecordedCall[];
  /** From now on, the method is answered with this: a result, `rpcError(…)`, or a function of the params to either. */
  response(method: string, response: RpcResponse): void;
  /**
   * How the next call is treated, once; several wait in a queue. Calls of `probes` go by unless `method` names them.
   */
  next(behaviour: Behaviour, method?: string): void;
  /** How every call is treated from now on (of `method`, else every one but `probes`); undefined: as usual again. */
  always(behaviour: Behaviour | undefined, method?: string): void;
  /** Stops listening and cuts every connection: callers are refused until `listen`, which takes the same port. */
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
  /** The caller's port: calls that came over one connection have the same. */
  readonly connection: number;
}

export type RpcResponse = unknown; // a value that JSON can hold, rpcError(…), or (params) => either

/** What a gateway asks by itself, at times of its own. */
export const probes: readonly string[] = ['eth_chainId', 'eth_getBlockByNumber', 'eth_subscribe', 'eth_unsubscribe'];

interface SentCall {
  readonly id: unknown;
  readonly method: string;
  readonly params: unknown;
}

/** A class, so that no result can be taken for it. */
class RpcErrorAnswer {
  readonly error: object;

  constructor(error: object) {
    this.error = error;
  }
}

/** An answer that is a JSON-RPC error. */
export function rpcError(code: number, message: string, data?: unknown): RpcResponse {
  return new RpcErrorAnswer({ code, message, ...(data === undefined ? {} : { data }) });
}

/**
 * Starts a fake node on a free loopback port. It answers `eth_chainId` and `eth_getBlockByNumber` (a small block) by
 * itself, what `answers` holds, and -32601 for everything else.
 */
export async function startFakeNode({
  chainId,
  responses: rpcResponses = {},
}: {
  chainId: number;
  responses?: Record<string, RpcResponse>;
}): Promise<FakeNode> {
  const calls: RecordedCall[] = [];
  const answerOf = new Map<string, RpcResponse>([
    ['eth_chainId', `0x${chainId.toString(16)}`],
    ['eth_getBlockByNumber', { number: '0x10', gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] }],
    ...Object.entries(rpcResponses),
  ]);
  const queue: { behaviour: Behaviour; method: string | undefined }[] = [];
  const latencyScore = new Map<string | undefined, Behaviour | undefined>();

  function behaviourFor(method: string): Behaviour {
    const isProbe = probes.includes(method);
    const at = queue.findIndex((entry) => entry.method === method || (entry.method === undefined && !isProbe));
    const [queued] = at === -1 ? [] : queue.splice(at, 1);
    return (
      queued?.behaviour ?? latencyScore.get(method) ?? (isProbe ? undefined : latencyScore.get(undefined)) ?? asUsual
    );
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const sent = JSON.parse(body) as SentCall | SentCall[];
      const { url: path = '', headers, socket } = request;
      const rpcResponse = ({ id, method, params }: SentCall): Exchange['upstreamResponse'] => {
        calls.push({ method, params, path, headers, body, connection: socket.remotePort ?? 0 });
        return { jsonrpc: '2.0', id, ...outcome(answerOf, method, params) };
      };
      // A batch is treated as the first call in it.
      const [first] = [sent].flat();
      const responses = Array.isArray(sent) ? sent.map(rpcResponse) : rpcResponse(sent);
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
    response: (method, response) => void answerOf.set(method, response),
    next: (behaviour, method) => void queue.push({ behaviour, method }),
    always: (behaviour, method) => void latencyScore.set(method, behaviour),
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
  return response instanceof RpcErrorAnswer ? { error: response.error } : { result: response };
}
