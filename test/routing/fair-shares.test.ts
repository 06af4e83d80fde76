import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { Account } from '../../gateway/admission/account.ts';
import { BatchingUpstream } from '../../gateway/upstreams/transport/batching-upstream.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import type { Transport } from '../../gateway/upstreams/transport/transport.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { hang } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network } from '../support/gateway.ts';
import { heldHttp, heldWebSocket } from './held-node.ts';
import { addKey, postTo, readAt } from './two-keys.ts';
import { slowTimers } from '../support/slow-timers.ts';

type Env = Record<string, string>;

describe.each([
  ['HTTP', (env: Env) => heldHttp(env, { batch: false })],
  ['HTTP in batches', (env: Env) => heldHttp(env)],
  ['WebSocket', heldWebSocket],
])('an upstream over %s that is busy with the requests of one key', (_, open) => {
  it('gets the request of another key next', async () => {
    const { gateway, arrived, release, untilInProgress } = await open({ UPSTREAM_CONNECTIONS: '1' });
    const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
    const responses = [postTo(greedy, readAt(1))];
    await eventually(() => arrived().length === 1);
    responses.push(postTo(greedy, [readAt(2), readAt(3), readAt(4)]));
    await untilInProgress(4);
    responses.push(postTo(greedy, readAt(5)));
    await untilInProgress(5);
    responses.push(postTo(other, readAt(9)));
    await untilInProgress(6);
    expect(arrived()).toEqual(['1']);
    const inOrder = ['1', '9', '2', '3', '4', '5'];
    for (let count = 2; count <= inOrder.length; count++) {
      release();
      await eventually(() => arrived().length === count);
    }
    expect(arrived()).toEqual(inOrder);
    release();
    for (const response of await Promise.all(responses)) expect(await response.text()).not.toContain('error');
  });

  it('keeps one of eight slots free for others, so that their requests need not wait', async () => {
    const { gateway, arrived, release, untilInProgress } = await open({ UPSTREAM_CONNECTIONS: '8' });
    const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
    const first = postTo(other, readAt(99));
    await eventually(() => arrived().length === 1);
    release();
    await first;
    const responses: Promise<Response>[] = [];
    for (let count = 1; count <= 12; count++) {
      responses.push(postTo(greedy, readAt(count)));
      await untilInProgress(count);
      await eventually(() => arrived().length === Math.min(8, count + 1));
    }
    responses.push(postTo(other, readAt(100)));
    await eventually(() => arrived().at(-1) === '100');
    await eventually(() => {
      release();
      return arrived().join().split(',').length === 14;
    });
    const texts = Promise.all(responses.map(async (response) => (await response).text()));
    await eventually(async () => {
      release();
      return (await readMetrics(gateway.address)).value('gatehouse_calls_in_flight', { network: 'main' }) === 0;
    });
    for (const text of await texts) expect(text).not.toContain('error');
  });

  it('serves a key that calls for the first time, however many slow calls the other one has', async () => {
    const { gateway, arrived, release, untilInProgress } = await open({ UPSTREAM_CONNECTIONS: '8' });
    const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
    const responses = Array.from({ length: 12 }, (_, index) => postTo(greedy, readAt(index + 1)));
    await untilInProgress(12);
    responses.push(postTo(other, readAt(99)));
    await eventually(() => arrived().at(-1) === '99');
    expect(arrived()).toHaveLength(8);
    await eventually(() => {
      release();
      return arrived().length === 13;
    });
    const texts = Promise.all(responses.map(async (response) => (await response).text()));
    await eventually(async () => {
      release();
      return (await readMetrics(gateway.address)).value('gatehouse_calls_in_flight', { network: 'main' }) === 0;
    });
    for (const text of await texts) expect(text).not.toContain('error');
  });

  it('never gets the request of a caller who left', async () => {
    const { gateway, arrived, release, untilInProgress } = await open({ UPSTREAM_CONNECTIONS: '1' });
    const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
    const first = postTo(greedy, readAt(1));
    await eventually(() => arrived().length === 1);
    const left = new AbortController();
    const leaving = postTo(other, readAt(2), left.signal);
    await untilInProgress(2);
    const last = postTo(greedy, readAt(3));
    await untilInProgress(3);
    left.abort();
    await expect(leaving).rejects.toThrow('aborted');
    await untilInProgress(2);
    release();
    await eventually(() => arrived().length === 2);
    release();
    await Promise.all([first, last]);
    expect(arrived()).toEqual(['1', '3']);
  });
});

it('an upstream gets an identical call of another key itself, if that of the first one waits', async () => {
  const { gateway, arrived, release, untilInProgress } = await heldHttp({ UPSTREAM_CONNECTIONS: '1' });
  const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
  const responses = [postTo(greedy, readAt(1))];
  await eventually(() => arrived().length === 1);
  responses.push(postTo(greedy, readAt(2)));
  await untilInProgress(2);
  responses.push(postTo(greedy, readAt(3)));
  await untilInProgress(3);
  // The same call as the last one of the greedy key, and twice.
  responses.push(postTo(other, readAt(3)), postTo(other, readAt(3)));
  await untilInProgress(5);
  for (const count of [2, 3, 4]) {
    release();
    await eventually(() => arrived().length === count);
  }
  release();
  await Promise.all(responses);
  expect(arrived()).toEqual(['1', '3', '2', '3']);
});

it.each([
  ['transactions', 'eth_sendRawTransaction', ['0x02c0']],
  ['pass-through calls', 'bor_getAuthor', [{}]],
])('%s wait as calls of their key', async (_, method, params) => {
  const { gateway, node, arrived, release, untilInProgress } = await heldHttp({ UPSTREAM_CONNECTIONS: '1' });
  const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
  const responses = [postTo(greedy, readAt(1))];
  await eventually(() => arrived().length === 1);
  for (const id of [1, 2]) responses.push(postTo(greedy, { jsonrpc: '2.0', id, method, params }));
  await untilInProgress(3);
  responses.push(postTo(other, readAt(9)));
  await untilInProgress(4);
  release();
  await eventually(() => arrived().length === 2);
  expect(node.callsOf(method)).toEqual([]);
  release();
  for (const { status } of await Promise.all(responses)) expect(status).toBe(200);
  expect(node.callsOf(method).length).toBeGreaterThan(0);
});

it('a call that may be hedged waits as a call of its key', async () => {
  const idle = await startFakeNode({ chainId: 7 });
  onTestFinished(() => idle.close());
  const { gateway, arrived, release, untilInProgress } = await heldHttp({ UPSTREAM_CONNECTIONS: '1' });
  const [upstream] = gateway.gateway.networks[0]?.upstreams ?? [];
  const upstreams = [
    { name: 'node', url: upstream?.url },
    { name: 'idle', url: idle.url, priority: 2 },
  ];
  gateway.save({ main: network(7, [], { upstreams, failsafe: { hedgeMinMs: 5_000 } }) });
  await gateway.gateway.reload();
  const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
  const responses = [postTo(greedy, readAt(1))];
  await eventually(() => arrived().length === 1);
  responses.push(postTo(greedy, readAt(2)));
  await untilInProgress(2);
  responses.push(postTo(greedy, readAt(3)));
  await untilInProgress(3);
  responses.push(postTo(other, readAt(9)));
  await untilInProgress(4);
  for (const count of [2, 3, 4]) {
    release();
    await eventually(() => arrived().length === count);
  }
  release();
  await Promise.all(responses);
  expect(arrived()).toEqual(['1', '9', '2', '3']);
});

describe('a network with as many calls in progress as it may have', () => {
  beforeEach(slowTimers);

  it('gets the call of another key next', async () => {
    const { gateway, arrived, release, untilInProgress } = await heldHttp({ networkConcurrency: '1' });
    const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
    const responses = [postTo(greedy, readAt(1))];
    await eventually(() => arrived().length === 1);
    responses.push(postTo(greedy, [readAt(2), readAt(3)]));
    await untilInProgress(3);
    responses.push(postTo(other, readAt(9)));
    await untilInProgress(4);
    for (const count of [2, 3, 4]) {
      release();
      await eventually(() => arrived().length === count);
    }
    release();
    await Promise.all(responses);
    expect(arrived()).toEqual(['1', '9', '2', '3']);
  });

  it('leaves space in its queue for other keys', async () => {
    const env = { networkConcurrency: '1', networkQueueMax: '4' };
    const { gateway, arrived, release, untilInProgress } = await heldHttp(env);
    const [greedy, other] = [gateway.url('main'), await addKey(gateway, 'main')];
    const first = postTo(greedy, readAt(1));
    await eventually(() => arrived().length === 1);
    const flood = Array.from({ length: 8 }, (_, index) => postTo(greedy, readAt(index + 2)));
    const statuses = Promise.all(flood.map(async (response) => (await response).status));
    await untilInProgress(3);
    const served = postTo(other, readAt(99));
    await untilInProgress(4);
    release();
    await eventually(() => arrived().length === 2);
    expect(arrived()).toEqual(['1', '99']);
    await eventually(() => {
      release();
      return arrived().length === 4;
    });
    release();
    for (const { status } of await Promise.all([first, served])) expect(status).toBe(200);
    expect((await statuses).filter((status) => status === 503)).toHaveLength(6);
  });
});

describe.each([
  ['', (http: HttpUpstream) => http],
  [' in a batch', (http: HttpUpstream) => new BatchingUpstream(http, 60_000)],
])('a call that waits for a slot%s', (_, transportOver) => {
  async function openUpstream(): Promise<Transport> {
    const node = await startFakeNode({ chainId: 7 });
    const upstream = new HttpUpstream({ url: node.url, headers: {}, connections: 1, responseMaxBytes: 1_000 });
    onTestFinished(async () => {
      await upstream.close();
      await node.close();
    });
    node.always(hang);
    return transportOver(upstream);
  }
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}';
  const clientBatch = {};
  const send = (upstream: Transport, timeLimitMs: number, id: number, caller: Cancellation): Promise<unknown> =>
    upstream.send({ id, body, deadline: clock.now() + timeLimitMs, clientBatch }, caller);
  const ownerOf = (account: string): Cancellation => new Cancellation(new Account(account));

  it('for its whole time limit is no upstream failure', async () => {
    const upstream = await openUpstream();
    const first = send(upstream, 900, 1, ownerOf('one'));
    const second = send(upstream, 400, 2, ownerOf('other'));
    await expect(second).rejects.toMatchObject({ message: 'no free slot', isCallerTimeout: true });
    await expect(first).rejects.toMatchObject({ message: 'timed out', isCallerTimeout: false });
  });

  it('and then has less than 400 ms for its response is no upstream failure', async () => {
    const upstream = await openUpstream();
    const first = send(upstream, 600, 1, ownerOf('one'));
    const second = send(upstream, 950, 2, ownerOf('other'));
    await expect(first).rejects.toMatchObject({ message: 'timed out', isCallerTimeout: false });
    await expect(second).rejects.toMatchObject({ message: 'timed out', isCallerTimeout: true });
  });
});
