import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';
import { countPerCall, type CallCounts, type Counting } from './call-counter.ts';
import { stop } from './processes.ts';
import { startGateway } from './start-gateway.ts';
import { SLOT, slotOf, type CallKind } from './wallet-calls.ts';

/**
 * The counts of one call over HTTP in a gateway of its own, with one upstream and default settings, but without a cache.
 * @param folder for its files
 * @param upstreamPort of a `FixedUpstream`
 */
export async function countOverHttp(folder: string, upstreamPort: number, kind: CallKind): Promise<CallCounts> {
  const upstreams = [{ name: 'fixed', url: `http://127.0.0.1:${upstreamPort}` }];
  const { child, port, paths } = await startGateway(folder, {
    networks: { bench: { name: 'Bench', chainId: 1, upstreams } },
    env: { CACHE_MAX_BYTES: '0' },
    script: [join(packageRoot, 'dist/bench/counted-gateway.js')],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const send = async (method: keyof Counting): Promise<unknown> => {
    const responded = once(child, 'message') as Promise<[unknown]>;
    child.send(method);
    return (await responded)[0];
  };
  const counting: Counting = {
    begin: async () => {
      await send('begin');
    },
    take: async () => (await send('take')) as CallCounts,
    end: async () => {
      await send('end');
    },
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'content-type': 'application/json' };
  const options = { port, host: '127.0.0.1', path: paths[0], method: 'POST', agent, headers };
  let number = 0;
  const call = async (): Promise<void> => {
    const slot = slotOf(++number);
    const sent = request(options);
    sent.end(
      `{"jsonrpc":"2.0","id":${number},"method":"${kind.method}","params":${kind.params.replaceAll(SLOT, slot)}}`,
    );
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    const expected = `{"jsonrpc":"2.0","id":${number},"result":${kind.result.replaceAll(SLOT, slot)}}`;
    if ((await text(response)) !== expected) throw new Error(`${kind.method}: a wrong response`);
  };
  try {
    return await countPerCall(call, counting);
  } finally {
    agent.destroy();
    await stop(child);
  }
}
