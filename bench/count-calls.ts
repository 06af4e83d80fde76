import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { countPerCall, type CallCounts, type Counting } from './call-counter.ts';
import { openHttp, openWebSocket, type Connection, type ConnectionHandler } from './connections.ts';
import { stop } from './processes.ts';
import { startGateway } from './start-gateway.ts';
import { SLOT, slotOf, type CallKind } from './wallet-calls.ts';

/** How calls reach the gateway, and whether their responses are in its cache. */
export type CountedWay = 'over HTTP' | 'over WebSocket' | 'cached, over HTTP';

export const countedWays: readonly CountedWay[] = ['over HTTP', 'over WebSocket', 'cached, over HTTP'];

/**
 * The counts of one call in a gateway of its own, with one upstream and default settings.
 * @param folder for its files
 * @param upstreamPort of a `FixedUpstream`
 */
export async function countCalls(
  folder: string,
  upstreamPort: number,
  kind: CallKind,
  way: CountedWay,
): Promise<CallCounts> {
  const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${upstreamPort}` }];
  const isCached = way === 'cached, over HTTP';
  const { child, port, paths } = await startGateway(folder, {
    networks: { bench: { name: 'Bench', chainId: 1, upstreams } },
    env: isCached ? {} : { CACHE_MAX_BYTES: '0' },
    script: [join(packageRoot, 'dist/bench/counted-gateway.js')],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const send = async <Name extends keyof Counting>(method: Name): Promise<Awaited<ReturnType<Counting[Name]>>> => {
    const responded = once(child, 'message') as Promise<[Awaited<ReturnType<Counting[Name]>>]>;
    child.send(method);
    return (await responded)[0];
  };
  const counting: Counting = {
    heapBytes: () => send('heapBytes'),
    collectAll: () => send('collectAll'),
    collectYoung: () => send('collectYoung'),
    begin: () => send('begin'),
    take: () => send('take'),
    end: () => send('end'),
  };
  const [path = ''] = paths;
  const connections: OpenConnection[] = [];
  let number = 0;
  // Calls at once have a connection each.
  const call = async (): Promise<void> => {
    const connection = connections.pop() ?? (await OpenConnection.open(way, port, path));
    const slot = slotOf(isCached ? 0 : ++number);
    const response = await connection.request(
      `{"jsonrpc":"2.0","id":1,"method":"${kind.method}","params":${kind.params.replaceAll(SLOT, slot)}}`,
    );
    const expected = `{"jsonrpc":"2.0","id":1,"result":${kind.result.replaceAll(SLOT, slot)}}`;
    if (response !== expected) throw new Error(`${kind.method}: a wrong response`);
    connections.push(connection);
  };
  try {
    return await countPerCall(call, counting);
  } finally {
    for (const connection of connections) connection.close();
    await stop(child);
  }
}

/** A connection with one request at a time. */
class OpenConnection {
  #connection: Connection | undefined;
  #settle: { resolve: (body: string) => void; reject: (error: Error) => void } | undefined;

  static async open(way: CountedWay, port: number, path: string): Promise<OpenConnection> {
    const opened = new OpenConnection();
    const handler: ConnectionHandler = {
      onResponse: (body) => opened.#settle?.resolve(body),
      onFailure: () => opened.#settle?.reject(new Error('the connection was closed')),
    };
    opened.#connection =
      way === 'over WebSocket' ? await openWebSocket(port, path, handler) : await openHttp(port, () => path, handler);
    return opened;
  }

  request(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#connection?.send(body);
    });
  }

  close(): void {
    this.#connection?.close();
  }
}
