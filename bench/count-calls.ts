import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { countPerCall, type CallCounts, type Counting } from './call-counter.ts';
import { openHttp, openWebSocket, type ConnectionHandler } from './connections.ts';
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
    begin: () => send('begin'),
    take: () => send('take'),
    end: () => send('end'),
  };
  let settle: { resolve: (body: string) => void; reject: (error: Error) => void } | undefined;
  const handler: ConnectionHandler = {
    onResponse: (body) => settle?.resolve(body),
    onFailure: () => settle?.reject(new Error(`${kind.method}: the connection was closed`)),
  };
  const [path = ''] = paths;
  const connection =
    way === 'over WebSocket' ? await openWebSocket(port, path, handler) : await openHttp(port, () => path, handler);
  let number = 0;
  const call = async (): Promise<void> => {
    number++;
    const slot = slotOf(isCached ? 0 : number);
    const response = new Promise<string>((resolve, reject) => {
      settle = { resolve, reject };
    });
    connection.send(
      `{"jsonrpc":"2.0","id":${number},"method":"${kind.method}","params":${kind.params.replaceAll(SLOT, slot)}}`,
    );
    const expected = `{"jsonrpc":"2.0","id":${number},"result":${kind.result.replaceAll(SLOT, slot)}}`;
    if ((await response) !== expected) throw new Error(`${kind.method}: a wrong response`);
  };
  try {
    return await countPerCall(call, counting);
  } finally {
    connection.close();
    await stop(child);
  }
}
