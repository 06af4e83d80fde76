import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { KeyShare } from '../../../gateway/admission/key-share.ts';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { Cancellation } from '../../../gateway/upstreams/transport/cancellation.ts';
import { BatchingUpstream } from '../../../gateway/upstreams/transport/batching/batching-upstream.ts';
import { HttpUpstream } from '../../../gateway/upstreams/transport/http-upstream.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { asUsual, cutInBody, hang, slow, type Behaviour } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { rpcError, startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { startGateway, type JsonRpcResponse } from '../../support/gateway.ts';
import { shiftClock, withNodes, word, type WithNodes } from '../../routing/with-nodes.ts';

const address = `0x${'11'.repeat(20)}`;
const position = (number: number): string => `0x${number.toString(16)}`;

/** A gateway with one upstream that accepts batches, and returns the position as the value of each storage slot. */
async function withBatches(batch: unknown = 'auto'): Promise<
  WithNodes & {
    node: FakeNode;
    clock: ReturnType<typeof shiftClock>;
    sendAll: (calls: TestCall[]) => Promise<JsonRpcResponse[]>;
  }
> {
  // No time slice ends, so that concurrent calls stay together on a slow machine, too.
  const clock = shiftClock();
  const all = await withNodes(1, { BATCH_CONCURRENCY: '200', UPSTREAM_CONNECTIONS: '200' }, {}, [{ batch }]);
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

type TestCall = readonly [method: string, params: readonly unknown[]];

const storage = (count: number): TestCall[] =>
  Array.from({ length: count }, (_, index) => ['eth_getStorageAt', [address, position(index), 'latest']]);

/** The received HTTP requests, each as its methods. */
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

describe('an upstream with batch: auto', () => {
  it('gets concurrent calls in one request, and each call gets its own response', async () => {
    const { node, sendAll } = await withBatches();
    const responses = await sendAll(storage(20));
    expect(responses.map(({ id, result }) => [id, result])).toEqual(storage(20).map((_, id) => [id, word(id)]));
    expect(requests(node)).toEqual([Array.from({ length: 20 }, () => 'eth_getStorageAt')]);
  });

  it('gets a single call without a batch', async () => {
    const { node, request } = await withBatches();
    expect((await request()).result).toBe(word(1));
    expect(node.calls.filter(({ method }) => method === 'eth_getStorageAt')[0]?.body).toMatch(/^\{/);
  });

  it('gets at most 100 calls per batch, and slow or large calls alone', async () => {
    const { node, sendAll } = await withBatches();
    node.response('eth_call', '0x01');
    const call: TestCall = ['eth_call', [{ to: address }, 'latest']];
    const logs: TestCall = ['eth_getLogs', [{ address }]];
    const responses = await sendAll([...storage(120), logs, call]);
    expect(responses.every(({ result }) => result !== undefined)).toBe(true);
    const [batches, alone] = [requests(node).filter(({ length }) => length > 1), requests(node).filter(isAlone)];
    expect(alone.flat()).toEqual(expect.arrayContaining(['eth_call', 'eth_getLogs']));
    expect(new Set(batches.flat())).toEqual(new Set(['eth_getStorageAt']));
    expect(requests(node).flat()).toHaveLength(122);
    expect(batches.map(({ length }) => length)).toEqual([100, 20]);
  });

  it('gets calls alone if the batch response omits or rejects them, and may respond in any order', async () => {
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
    const { gateway, nodes, requestCounts } = await withNodes(2, {}, { hedge: 50 }, [{ batch: 'auto' }, {}]);
    for (const node of nodes) node.response('eth_getStorageAt', word(5));
    const calls = storage(8).map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
    // By now there are enough samples for hedging.
    for (let times = 0; times < 3; times++) await gateway.post('test', JSON.stringify(calls));
    const before = requestCounts()[1] ?? 0;
    nodes[0]?.next(slow(400));
    await gateway.post('test', JSON.stringify(calls));
    expect(requestCounts()[1]).toBeGreaterThan(before);
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

it('a batch response takes its bytes from the share of its key', async () => {
  const { node } = await withBatches();
  node.response('eth_getBalance', `0x${'1'.repeat(3_000)}`);
  const memory = new MemoryBudget({ requestsMax: 1, maxBytes: 80_000 });
  const http = new HttpUpstream({ url: node.url, connections: 2, headers: {}, responseMaxBytes: 100_000, memory });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const [greedyKey, otherKey] = [new KeyShare('greedy'), new KeyShare('other')];
  memory.add(greedyKey.holder, 39_000);
  const calls = [greedyKey, greedyKey, otherKey, otherKey].map((owner, index) => {
    const cancellation = new Cancellation(owner);
    const body = `{"jsonrpc":"2.0","id":${index},"method":"eth_getBalance","params":["${address}","latest"]}`;
    return batching.exchange(body, 60_000, index, cancellation, 'lookup');
  });
  const rejected = { status: 'rejected', reason: { reason: 'memory-share' } };
  const fulfilled = { status: 'fulfilled', value: { status: 200 } };
  expect(await Promise.allSettled(calls)).toMatchObject([rejected, rejected, fulfilled, fulfilled]);
  expect(requests(node).map(({ length }) => length)).toEqual([2, 2]);
  expect(memory.bytes).toBe(39_000);
});

it.each<[string, Behaviour]>([
  ['are successful', asUsual],
  ['are rejected as a batch', write(413, 'too large')],
  ['get no response', hang],
  ['get a response in part', write(200, '[]')],
  ['lose their connection', cutInBody],
])('calls that %s take one slot each, until they end', async (_, behaviour) => {
  const { node } = await withBatches();
  node.response('eth_gasPrice', '0x1');
  node.always(behaviour, 'eth_gasPrice');
  const http = new HttpUpstream({ url: node.url, connections: 3, headers: {}, responseMaxBytes: 100_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const caller = new Cancellation(new KeyShare('one'));
  const owner = caller.owner as KeyShare;
  const calls = [1, 2, 3, 4, 5].map((id) => {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"eth_gasPrice","params":[]}`;
    return batching.exchange(body, 500, id, caller, 'lookup');
  });
  expect(http.slots.waitersOf(owner)).toBe(2);
  await Promise.allSettled(calls);
  // All three are free again, and there is no fourth one.
  expect([1, 2, 3, 4].map(() => http.slots.tryEnter(owner))).toEqual([true, true, true, false]);
  expect(Math.max(...requests(node).map(({ length }) => length))).toBe(3);
});

it('calls whose caller leaves free their slots, before they are sent and in a batch', async () => {
  const { node } = await withBatches();
  node.always(hang);
  const http = new HttpUpstream({ url: node.url, connections: 4, headers: {}, responseMaxBytes: 100_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const owner = new KeyShare('one');
  const send = (caller: Cancellation, id: number): Promise<unknown> =>
    batching.exchange('{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}', 60_000, id, caller, 'lookup');
  const [early, late] = [new Cancellation(owner), new Cancellation(owner)];
  const calls = Promise.allSettled([send(early, 1), send(late, 2), send(late, 3), send(early, 4)]);
  early.cancel();
  await eventually(() => node.callsOf('eth_gasPrice').length === 2);
  late.cancel();
  const cancelled = { reason: { name: 'Cancelled' } };
  expect(await calls).toMatchObject([cancelled, cancelled, cancelled, cancelled]);
  expect([1, 2, 3, 4, 5].map(() => http.slots.tryEnter(owner))).toEqual([true, true, true, true, false]);
});

it('a defect while a batch is sent ends its calls at once, and is not a timeout', async () => {
  const http = new HttpUpstream({ url: 'http://127.0.0.1:1', connections: 2, headers: {}, responseMaxBytes: 1_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const defect = new TypeError('undefined is not a function');
  vi.spyOn(http, 'send').mockRejectedValue(defect);
  const calls = [1, 2].map((id) => batching.exchange('{}', 60_000, id, undefined, 'lookup'));
  expect(await Promise.allSettled(calls)).toEqual(calls.map(() => ({ status: 'rejected', reason: defect })));
});

it('a defect while the first call of a rejected batch is sent alone ends its calls at once', async () => {
  const http = new HttpUpstream({ url: 'http://127.0.0.1:1', connections: 2, headers: {}, responseMaxBytes: 1_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const defect = new TypeError('undefined is not a function');
  const rejected = { status: 500, body: Buffer.from('no'), retryAfter: undefined };
  vi.spyOn(http, 'send').mockResolvedValueOnce(rejected).mockRejectedValue(defect);
  const calls = [1, 2].map((id) => batching.exchange('{}', 60_000, id, undefined, 'lookup'));
  expect(await Promise.allSettled(calls)).toEqual(calls.map(() => ({ status: 'rejected', reason: defect })));
});
