import { describe, expect, it } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { slow, type Behaviour } from '../../support/behaviours.ts';
import { rpcError, type FakeNode } from '../../support/fake-node.ts';
import type { JsonRpcResponse } from '../../support/gateway.ts';
import { shiftClock, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

const address = `0x${'11'.repeat(20)}`;
const position = (number: number): string => `0x${number.toString(16)}`;

/** A gateway with one upstream that takes batches, which answers a storage position with the position. */
async function withBatches(): Promise<
  WithNodes & { node: FakeNode; askAll: (calls: Asked[]) => Promise<JsonRpcResponse[]> }
> {
  // No time slice ends, so that calls of one moment stay together on a slow machine, too.
  shiftClock({ isStopped: true });
  const all = await withNodes(1, { BATCH_CONCURRENCY: '200' }, {}, [{ batch: true }]);
  const [node] = all.nodes as [FakeNode];
  node.response('eth_getStorageAt', (params: string[]) => word(Number(params[1])));
  node.response('eth_getBalance', '0x1');
  node.response('eth_getLogs', []);
  await all.request();
  node.calls.length = 0;
  const askAll = async (calls: Asked[]): Promise<JsonRpcResponse[]> => {
    const body = calls.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
    return (await all.gateway.post('test', JSON.stringify(body))).json() as Promise<JsonRpcResponse[]>;
  };
  return { ...all, node, askAll };
}

type Asked = readonly [method: string, params: readonly unknown[]];

const storage = (count: number): Asked[] =>
  Array.from({ length: count }, (_, index) => ['eth_getStorageAt', [address, position(index), 'latest']]);

/** The requests that came, each with the methods in it. */
const requests = ({ calls }: FakeNode): string[][] => {
  const bodies = [...new Set(calls.filter(({ method }) => method !== 'eth_getBlockByNumber').map(({ body }) => body))];
  return bodies.map((body) => [JSON.parse(body) as { method: string }].flat().map(({ method }) => method));
};

const isAlone = ({ length }: string[]): boolean => length === 1;

const write =
  (status: number, text: string): Behaviour =>
  ({ response }) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };

describe('an upstream with batch: true', () => {
  it('is asked for what comes at one moment in one request, and each call gets its own reply', async () => {
    const { node, askAll } = await withBatches();
    const responses = await askAll(storage(20));
    expect(responses.map(({ id, result }) => [id, result])).toEqual(storage(20).map((_, id) => [id, word(id)]));
    expect(requests(node)).toEqual([Array.from({ length: 20 }, () => 'eth_getStorageAt')]);
  });

  it('gets a call that comes alone as it would without', async () => {
    const { node, request: ask } = await withBatches();
    expect((await ask()).result).toBe(word(1));
    expect(node.calls.filter(({ method }) => method === 'eth_getStorageAt')[0]?.body).toMatch(/^\{/);
  });

  it('gets no more than 100 calls at once, and nothing with them that may take long or is long', async () => {
    const { node, askAll } = await withBatches();
    node.response('eth_call', '0x01');
    const call: Asked = ['eth_call', [{ to: address }, 'latest']];
    const logs: Asked = ['eth_getLogs', [{ address }]];
    const responses = await askAll([...storage(120), logs, call]);
    expect(responses.every(({ result }) => result !== undefined)).toBe(true);
    const [batches, alone] = [requests(node).filter(({ length }) => length > 1), requests(node).filter(isAlone)];
    expect(alone.flat()).toEqual(expect.arrayContaining(['eth_call', 'eth_getLogs']));
    expect(new Set(batches.flat())).toEqual(new Set(['eth_getStorageAt']));
    expect(requests(node).flat()).toHaveLength(122);
    expect(batches.map(({ length }) => length)).toEqual([100, 20]);
  });

  it('may answer in another order, leave some out and refuse some: those are asked by themselves', async () => {
    const { node, askAll } = await withBatches();
    node.next(({ response, text }) => {
      const upstreamResponses = JSON.parse(text) as { id: number; result?: string; error?: object }[];
      const tooLarge = {
        jsonrpc: '2.0',
        id: upstreamResponses[1]?.id,
        error: { code: -32003, message: 'response too large' },
      };
      response.end(JSON.stringify([...upstreamResponses.slice(3).reverse(), tooLarge, upstreamResponses[0]]));
    });
    const responses = await askAll(storage(8));
    expect(responses.map(({ result }) => result)).toEqual(storage(8).map((_, id) => word(id)));
    expect(requests(node).map(({ length }) => length)).toEqual([8, 1, 1]);
  });

  it('gives each call its own error', async () => {
    const { node, askAll } = await withBatches();
    node.response('eth_getStorageAt', (params: string[]) =>
      params[1] === '0x1' ? rpcError(3, 'execution reverted', '0x') : word(Number(params[1])),
    );
    const responses = await askAll(storage(3));
    expect(responses.map(({ result, error }) => result ?? error?.code)).toEqual([word(0), -32000, word(2)]);
    expect(requests(node)).toHaveLength(1);
  });

  it.each<[string, Behaviour]>([
    [
      'an error in place of an array',
      write(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}'),
    ],
    ['a refusal of its status', write(413, 'too large')],
    ['what is no JSON', write(200, '[{"jsonrpc"')],
  ])('that answers with %s is asked one by one', async (_, behaviour) => {
    const { node, askAll } = await withBatches();
    node.next(behaviour);
    const responses = await askAll(storage(3));
    expect(responses.map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(requests(node).map(({ length }) => length)).toEqual([3, 1, 1, 1]);
  });

  it('that does not take batches gets none for a while', async () => {
    const { node, askAll } = await withBatches();
    node.next(write(400, '{"error":{"code":-32600,"message":"batch requests are not supported"}}'));
    await askAll(storage(3));
    node.calls.length = 0;
    await askAll(storage(3));
    expect(requests(node).map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('that answers an array of one error to all of them is asked one by one, and gets none for a while', async () => {
    const { node, askAll } = await withBatches();
    node.next(({ id, response }) => {
      const error = { code: -32600, message: 'batch too large' };
      response.end(JSON.stringify([{ jsonrpc: '2.0', id, error }]));
    });
    for (let times = 0; times < 2; times++)
      expect((await askAll(storage(3))).map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(requests(node).map(({ length }) => length)).toEqual([3, 1, 1, 1, 1, 1, 1]);
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(9);
  });

  it('that fails at batches only is not taken for one that is down', async () => {
    const { node, askAll } = await withBatches();
    node.always(({ response, text }) => {
      const isBatch = text.startsWith('[');
      response.writeHead(isBatch ? 500 : 200).end(isBatch ? '{"message":"batch of more than 3"}' : text);
    });
    for (let times = 0; times < 2; times++)
      expect((await askAll(storage(3))).map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(9);
  });

  it('that is slow once is slow once, however many calls went together', async () => {
    const { gateway, nodes, requestCounts } = await withNodes(2, {}, { hedge: 50 }, [{ batch: true }, {}]);
    for (const node of nodes) node.response('eth_getStorageAt', word(5));
    const calls = storage(8).map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
    // It is known how long it takes by now.
    for (let times = 0; times < 3; times++) await gateway.post('test', JSON.stringify(calls));
    const before = requestCounts()[1] ?? 0;
    nodes[0]?.next(slow(400));
    await gateway.post('test', JSON.stringify(calls));
    expect(requestCounts()[1]).toBeGreaterThan(before);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
  });

  it('that is at its limit is so for all calls of the batch', async () => {
    const { node, askAll } = await withBatches();
    node.always(write(429, 'too many requests'));
    const responses = await askAll(storage(3));
    expect(responses.every(({ error }) => error !== undefined)).toBe(true);
    expect(requests(node).map(({ length }) => length)).toEqual([3]);
  });
});
