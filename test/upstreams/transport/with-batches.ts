import type { Behaviour } from '../../support/behaviours.ts';
import type { FakeNode } from '../../support/fake-node.ts';
import type { JsonRpcResponse } from '../../support/gateway.ts';
import { shiftClock, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

export const address = `0x${'11'.repeat(20)}`;
const position = (number: number): string => `0x${number.toString(16)}`;

/** A gateway with one upstream that accepts batches, and returns the position as the value of each storage slot. */
export async function withBatches(batch: unknown = 'auto'): Promise<
  WithNodes & {
    node: FakeNode;
    clock: ReturnType<typeof shiftClock>;
    sendAll: (calls: TestCall[]) => Promise<JsonRpcResponse[]>;
  }
> {
  // No time slice ends, so that concurrent calls stay together on a slow machine, too.
  const clock = shiftClock();
  const all = await withNodes(1, { batchConcurrency: '200', UPSTREAM_CONNECTIONS: '200' }, {}, [{ batch }]);
  const [node] = all.nodes as [FakeNode];
  node.response('eth_getStorageAt', (params: string[]) => word(Number(params[1])));
  node.response('eth_getBalance', '0x1');
  node.response('eth_getLogs', []);
  await all.request();
  node.calls.length = 0;
  const sendAll = async (calls: TestCall[]): Promise<JsonRpcResponse[]> => {
    const body = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
    return (await all.gateway.post('test', JSON.stringify(body))).json() as Promise<JsonRpcResponse[]>;
  };
  return { ...all, node, clock, sendAll };
}

export type TestCall = readonly [method: string, params: readonly unknown[]];

export const storage = (count: number): TestCall[] =>
  Array.from({ length: count }, (_, index) => ['eth_getStorageAt', [address, position(index), 'latest']]);

const own = ['eth_getBlockByNumber', 'eth_chainId'];

/** The received HTTP requests, each as its methods. Without those of the gateway itself. */
export const requests = ({ calls }: FakeNode): string[][] => {
  const bodies = [...new Set(calls.filter(({ method }) => !own.includes(method)).map(({ body }) => body))];
  return bodies.map((body) => [JSON.parse(body) as { method: string }].flat().map(({ method }) => method));
};

export const write =
  (status: number, text: string): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };
