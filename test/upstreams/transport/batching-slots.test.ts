import { expect, it, onTestFinished, vi } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { Account } from '../../../gateway/admission/account.ts';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { BatchingUpstream } from '../../../gateway/upstreams/transport/batching-upstream.ts';
import { Cancellation } from '../../../gateway/upstreams/transport/cancellation.ts';
import type { HttpResponse } from '../../../gateway/upstreams/transport/http-exchange.ts';
import { HttpUpstream } from '../../../gateway/upstreams/transport/http-upstream.ts';
import { asUsual, cutInBody, hang, type Behaviour } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { address, requests, withBatches, write } from './with-batches.ts';

/** Calls of one client's batch. */
const clientBatch = {};

function send(
  upstream: BatchingUpstream,
  body: string,
  timeLimitMs: number,
  id: number,
  caller?: Cancellation,
  batch: object = clientBatch,
): Promise<HttpResponse> {
  return upstream.send({ id, body, deadline: clock.now() + timeLimitMs, clientBatch: batch }, caller);
}

it('a batch response takes its bytes from the share of its key', async () => {
  const { node } = await withBatches();
  node.response('eth_getBalance', `0x${'1'.repeat(3_000)}`);
  const memory = new MemoryBudget({ requestsMax: 1, maxBytes: 80_000 });
  const http = new HttpUpstream({ url: node.url, connections: 2, headers: {}, responseMaxBytes: 100_000, memory });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const [greedyKey, otherKey] = [new Account('greedy'), new Account('other')];
  memory.add(greedyKey, 39_000);
  const calls = [greedyKey, greedyKey, otherKey, otherKey].map((owner, index) => {
    const cancellation = new Cancellation(owner);
    const body = `{"jsonrpc":"2.0","id":${index},"method":"eth_getBalance","params":["${address}","latest"]}`;
    return send(batching, body, 60_000, index, cancellation, owner);
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
  const caller = new Cancellation(new Account('one'));
  const owner = caller.owner as Account;
  const calls = [1, 2, 3, 4, 5].map((id) => {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"eth_gasPrice","params":[]}`;
    return send(batching, body, 500, id, caller);
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
  const owner = new Account('one');
  const sendFor = (caller: Cancellation, id: number): Promise<unknown> =>
    send(batching, '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}', 60_000, id, caller);
  const [early, late] = [new Cancellation(owner), new Cancellation(owner)];
  const calls = Promise.allSettled([sendFor(early, 1), sendFor(late, 2), sendFor(late, 3), sendFor(early, 4)]);
  early.cancel();
  await eventually(() => node.callsOf('eth_gasPrice').length === 2);
  late.cancel();
  const cancelled = { reason: { name: 'Cancelled' } };
  expect(await calls).toMatchObject([cancelled, cancelled, cancelled, cancelled]);
  expect([1, 2, 3, 4, 5].map(() => http.slots.tryEnter(owner))).toEqual([true, true, true, true, false]);
});

it('the first call of a rejected batch takes no turn of large responses: nothing would end it after the call', async () => {
  const http = new HttpUpstream({ url: 'http://127.0.0.1:1', connections: 2, headers: {}, responseMaxBytes: 1_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const rejected = { status: 403, body: Buffer.from('no'), retryAfter: undefined, nodeMs: 1 };
  const post = vi.spyOn(http, 'post').mockResolvedValue(rejected);
  const turnTaker = { turns: undefined } as never;
  const deadline = clock.now() + 60_000;
  await Promise.all([1, 2].map((id) => batching.send({ id, body: '{}', deadline, clientBatch, turnTaker }, undefined)));
  // The batch, and the call alone.
  expect(post.mock.calls.map(([request]) => Object.hasOwn(request, 'turnTaker'))).toEqual([false, false]);
});

it('a defect while a batch is sent ends its calls at once, and is not a timeout', async () => {
  const http = new HttpUpstream({ url: 'http://127.0.0.1:1', connections: 2, headers: {}, responseMaxBytes: 1_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const defect = new TypeError('undefined is not a function');
  vi.spyOn(http, 'post').mockRejectedValue(defect);
  const calls = [1, 2].map((id) => send(batching, '{}', 60_000, id));
  expect(await Promise.allSettled(calls)).toEqual(calls.map(() => ({ status: 'rejected', reason: defect })));
});

it('a defect while the first call of a rejected batch is sent alone ends its calls at once', async () => {
  const http = new HttpUpstream({ url: 'http://127.0.0.1:1', connections: 2, headers: {}, responseMaxBytes: 1_000 });
  const batching = new BatchingUpstream(http, 60_000);
  onTestFinished(() => batching.close());
  const defect = new TypeError('undefined is not a function');
  const rejected = { status: 500, body: Buffer.from('no'), retryAfter: undefined, nodeMs: 1 };
  vi.spyOn(http, 'post').mockResolvedValueOnce(rejected).mockRejectedValue(defect);
  const calls = [1, 2].map((id) => send(batching, '{}', 60_000, id));
  expect(await Promise.allSettled(calls)).toEqual(calls.map(() => ({ status: 'rejected', reason: defect })));
});
