import { describe, expect, it, onTestFinished } from 'vitest';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { asUsual, hang, type Behaviour } from '../../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { startGateway } from '../../support/gateway.ts';
import { hedged, shiftClock, withNodes, word } from '../../routing/with-nodes.ts';
import { address, requests, storage, withBatches, write, type TestCall } from './with-batches.ts';

const isAlone = ({ length }: string[]): boolean => length === 1;

describe('an upstream with batch: auto', () => {
  it('gets the calls of a client’s batch in one request, and each call gets its own response', async () => {
    const { node, sendAll } = await withBatches();
    const responses = await sendAll(storage(10));
    expect(responses.map(({ id, result }) => [id, result])).toEqual(storage(10).map((_, id) => [id, word(id)]));
    expect(requests(node)).toEqual([Array.from({ length: 10 }, () => 'eth_getStorageAt')]);
  });

  it('gets a single call without a batch', async () => {
    const { node, request } = await withBatches();
    expect((await request()).result).toBe(word(1));
    expect(node.calls.filter(({ method }) => method === 'eth_getStorageAt')[0]?.body).toMatch(/^\{/);
  });

  it('gets at most 10 calls per batch, and slow or large calls alone', async () => {
    const { node, sendAll } = await withBatches();
    node.response('eth_call', '0x01');
    const call: TestCall = ['eth_call', [{ to: address }, 'latest']];
    const logs: TestCall = ['eth_getLogs', [{ address }]];
    const responses = await sendAll([...storage(23), logs, call]);
    expect(responses.every(({ result }) => result !== undefined)).toBe(true);
    const [batches, alone] = [requests(node).filter(({ length }) => length > 1), requests(node).filter(isAlone)];
    expect(alone.flat()).toEqual(expect.arrayContaining(['eth_call', 'eth_getLogs']));
    expect(new Set(batches.flat())).toEqual(new Set(['eth_getStorageAt']));
    expect(requests(node).flat()).toHaveLength(25);
    expect(batches.map(({ length }) => length)).toEqual([10, 10, 3]);
  });

  it('gets calls alone if the batch response omits or rejects them, in any order', async () => {
    const { node, sendAll } = await withBatches();
    node.next(({ response, text }) => {
      const upstreamResponses = JSON.parse(text) as { id: number; result?: string; error?: object }[];
      const tooLarge = {
        jsonrpc: '2.0',
        id: upstreamResponses[1]?.id,
        error: { code: -32003, message: 'response too large' },
      };
      response.end(JSON.stringify([...upstreamResponses.slice(3).reverse(), tooLarge, upstreamResponses[0]]));
    });
    const responses = await sendAll(storage(8));
    expect(responses.map(({ result }) => result)).toEqual(storage(8).map((_, id) => word(id)));
    expect(requests(node).map(({ length }) => length)).toEqual([8, 1, 1]);
  });

  it('gets a call alone if the id of its response is an object', async () => {
    const { node, sendAll } = await withBatches();
    node.next(({ response, text }) => {
      const [first, ...others] = JSON.parse(text) as object[];
      response.end(JSON.stringify([{ ...first, id: { toString: 1 } }, ...others]));
    });
    const responses = await sendAll(storage(3));
    expect(responses.map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(requests(node).map(({ length }) => length)).toEqual([3, 1]);
  });

  it('may respond to all calls in another order', async () => {
    const { node, sendAll } = await withBatches();
    node.next(({ response, text }) => {
      response.end(JSON.stringify((JSON.parse(text) as object[]).reverse()));
    });
    const responses = await sendAll(storage(4));
    expect(responses.map(({ id, result }) => [id, result])).toEqual(storage(4).map((_, id) => [id, word(id)]));
    expect(requests(node)).toHaveLength(1);
  });

  it('gives each call its own error', async () => {
    const { node, sendAll } = await withBatches();
    node.response('eth_getStorageAt', (params: string[]) =>
      params[1] === '0x1' ? rpcError(3, 'execution reverted', '0x') : word(Number(params[1])),
    );
    const responses = await sendAll(storage(3));
    expect(responses.map(({ result, error }) => result ?? error?.code)).toEqual([word(0), -32000, word(2)]);
    expect(requests(node)).toHaveLength(1);
  });

  it.each<[string, Behaviour]>([
    [
      'an error in place of an array',
      write(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}'),
    ],
    ['HTTP 413', write(413, 'too large')],
    ['malformed JSON', write(200, '[{"jsonrpc"')],
  ])('that responds with %s gets the calls one by one', async (_, behaviour) => {
    const { node, sendAll } = await withBatches();
    node.next(behaviour);
    const responses = await sendAll(storage(3));
    expect(responses.map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(requests(node).map(({ length }) => length)).toEqual([3, 1, 1, 1]);
  });

  it.each([
    ['auto', 600_000],
    [true, 60_000],
  ])('that rejects batches gets none for a while: batch: %s', async (batch, pauseMs) => {
    const { node, sendAll, clock } = await withBatches(batch);
    const sizes = async (): Promise<number[]> => {
      node.calls.length = 0;
      await sendAll(storage(3));
      return requests(node).map(({ length }) => length);
    };
    node.next(write(400, '{"error":{"code":-32600,"message":"batch requests are not supported"}}'));
    expect(await sizes()).toEqual([3, 1, 1, 1]);
    expect(await sizes()).toEqual([1, 1, 1]);
    clock.forward(pauseMs - 1);
    expect(await sizes()).toEqual([1, 1, 1]);
    clock.forward(1);
    expect(await sizes()).toEqual([3]);
  });

  it('gets none with batch: false', async () => {
    const { node, sendAll } = await withBatches(false);
    await sendAll(storage(3));
    expect(requests(node).map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('that responds with an array of one error gets the calls one by one, and no batches for a while', async () => {
    const { node, sendAll } = await withBatches();
    node.next(({ id, response }) => {
      const error = { code: -32600, message: 'batch too large' };
      response.end(JSON.stringify([{ jsonrpc: '2.0', id, error }]));
    });
    for (let times = 0; times < 2; times++)
      expect((await sendAll(storage(3))).map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(requests(node).map(({ length }) => length)).toEqual([3, 1, 1, 1, 1, 1, 1]);
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(9);
  });

  it('that fails only with batches keeps its circuit closed', async () => {
    const { node, sendAll } = await withBatches();
    node.always(({ response, text }) => {
      const isBatch = text.startsWith('[');
      response.writeHead(isBatch ? 500 : 200).end(isBatch ? '{"message":"batch of more than 3"}' : text);
    });
    for (let times = 0; times < 2; times++)
      expect((await sendAll(storage(3))).map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
    expect(node.callsOf('eth_getStorageAt')).toHaveLength(9);
  });

  it('that is slow for one batch counts as slow once, however many calls it has', async () => {
    // No time passes, so that a busy machine changes neither the batches nor the delay of a hedge.
    const clock = shiftClock();
    const { gateway, nodes } = await withNodes(2, {}, hedged, [{ batch: 'auto' }, {}]);
    const [first, second] = nodes as [FakeNode, FakeNode];
    for (const node of nodes) node.response('eth_getStorageAt', word(5));
    const calls = storage(8).map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
    // By then there are enough samples for hedging, and the next batch is none of those that are sent alone.
    for (let times = 0; times < 4; times++) await gateway.post('test', JSON.stringify(calls));
    clock.forward(1);
    for (const node of nodes) node.calls.length = 0;
    first.next(hang);
    await gateway.post('test', JSON.stringify(calls));
    expect(requests(first).map(({ length }) => length)).toEqual([8]);
    expect(second.callsOf('eth_getStorageAt')).toHaveLength(8);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
  });

  it('that is rate limited is so for all calls of the batch', async () => {
    const { node, sendAll } = await withBatches();
    node.always(write(429, 'too many requests'));
    const responses = await sendAll(storage(3));
    expect(responses.every(({ error }) => error !== undefined)).toBe(true);
    // One of them shows that the status is not that of batches.
    expect(requests(node).map(({ length }) => length)).toEqual([3, 1]);
  });

  it.each([403, 429])(
    'that rejects batches with HTTP %i gets the calls one by one, and stays available',
    async (code) => {
      const { node, sendAll, gateway } = await withBatches();
      node.always((exchange) => {
        if (exchange.text.startsWith('[')) void write(code, 'no')(exchange);
        else asUsual(exchange);
      });
      for (let times = 0; times < 2; times++)
        expect((await sendAll(storage(3))).map(({ result }) => result)).toEqual([word(0), word(1), word(2)]);
      expect(requests(node).map(({ length }) => length)).toEqual([3, 1, 1, 1, 1, 1, 1]);
      expect((await readMetrics(gateway.address)).value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    },
  );
});

it('a client’s batch goes upstream as one, without any option', async () => {
  // No time slice ends, so that the calls stay together on a slow machine, too.
  shiftClock();
  const node = await startFakeNode({ chainId: 7, responses: { eth_getStorageAt: word(1) } });
  const file = { name: 'T', chainId: 7, upstreams: [{ name: 'node', url: node.url }] };
  const gateway = await startGateway({ test: file });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const calls = storage(10).map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
  expect(await (await gateway.post('test', JSON.stringify(calls))).json()).toHaveLength(10);
  const sizes = requests(node).map(({ length }) => length);
  expect(Math.max(...sizes)).toBe(10);
});
