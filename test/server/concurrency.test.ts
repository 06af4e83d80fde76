import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_WAIT_MS } from '../../gateway/admission/caller-account.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { listKeys } from '../../gateway/auth/stores/key-store.ts';
import { withoutTime } from '../support/elastic-clock.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { heldHttp, type HeldNode } from '../routing/held-node.ts';
import { addKey, postTo, readAt } from '../routing/two-keys.ts';
import { head, openRaw, post, type RawConnection } from './http/raw-connection.ts';
import { openCaller } from './websocket/caller.ts';

const message = 'too many requests in flight with this project id';
const rateLimit = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
const rejection = (id: number) => ({ jsonrpc: '2.0', id, error: { code: -32005, message } });

/** A gateway with a key of this concurrency. */
async function withConcurrency(concurrency: number): Promise<HeldNode & { url: string; path: string }> {
  const held = await heldHttp({}, { batch: false });
  const url = await addKey(held.gateway, 'main', { concurrency: String(concurrency) });
  return { ...held, url, path: new URL(url).pathname };
}

/** A gateway with a key of these rules, and a caller that sends a text and returns the parsed response. */
async function withSender(transport: string, rules: Parameters<typeof addKey>[2]) {
  const held = await heldHttp({}, { batch: false });
  const url = await addKey(held.gateway, 'main', rules);
  if (transport === 'HTTP') {
    const sender = async (text: string): Promise<unknown> => (await fetch(url, { method: 'POST', body: text })).json();
    return { ...held, url, sender };
  }
  const caller = await openCaller(url.replace('http', 'ws').replace('/v3/', '/ws/v3/'));
  const sender = async (text: string): Promise<unknown> => {
    caller.send(text);
    return JSON.parse(await caller.next());
  };
  return { ...held, url, sender };
}

/** Starts the body of a request that does not end, and waits until the gateway reads it. */
async function openSlowBody({ gateway, path }: { gateway: HeldNode['gateway']; path: string }): Promise<RawConnection> {
  const slow = await openRaw(gateway.gateway.port);
  slow.send(head(`POST ${path}`, { 'content-length': 100, expect: '100-continue' }));
  expect((await slow.response()).status).toBe(100);
  return slow;
}

describe('requests of one key in flight, above its concurrency', () => {
  it('wait until one has ended', async () => {
    const { arrived, release, url, untilInProgress } = await withConcurrency(2);
    const responses = [1, 2, 3].map((position) => postTo(url, readAt(position)));
    await untilInProgress(2);
    expect(arrived()).toHaveLength(2);
    release();
    await eventually(() => arrived().length === 3);
    release();
    release();
    for (const { status } of await Promise.all(responses)) expect(status).toBe(200);
  });

  it('are 429 after a second with Retry-After, RateLimit headers and their ids, single or in a batch, and other keys are served', async () => {
    const { gateway, arrived, release, url } = await withConcurrency(1);
    const first = postTo(url, readAt(1));
    await eventually(() => arrived().length === 1);
    const startedAt = clock.now();
    const [single, batch] = await Promise.all([postTo(url, readAt(2)), postTo(url, [readAt(3), readAt(4)])]);
    expect(clock.now() - startedAt).toBeGreaterThan(990);
    for (const { status, headers } of [single, batch])
      expect([status, headers.get('retry-after'), ...rateLimit.map((name) => headers.get(name))]).toEqual([
        ...[429, '01'],
        ...['1', '0', '1'],
      ]);
    expect(await single.json()).toEqual(rejection(2));
    expect(await batch.json()).toEqual([rejection(3), rejection(4)]);
    const other = gateway.post('main', JSON.stringify(readAt(5)));
    await eventually(() => arrived().length === 2);
    release();
    release();
    for (const { status } of await Promise.all([first, other])) expect(status).toBe(200);
    expect(arrived()).toEqual(['1', '5']);
  });

  it('of a batch wait for the others of the batch, and none is rejected', async () => {
    const { arrived, release, url } = await withConcurrency(3);
    const batch = postTo(
      url,
      Array.from({ length: 7 }, (_, index) => readAt(index + 1)),
    );
    await eventually(() => arrived().length === 3);
    for (let count = 4; count <= 7; count++) {
      release();
      await eventually(() => arrived().length === count);
    }
    for (let count = 0; count < 3; count++) release();
    const responses = (await (await batch).json()) as object[];
    expect(responses.map((response) => 'result' in response)).toEqual(Array.from({ length: 7 }, () => true));
  });

  it('of a batch start when requests beside it end', async () => {
    const { arrived, release, url } = await withConcurrency(2);
    const single = postTo(url, readAt(1));
    await eventually(() => arrived().length === 1);
    const batch = postTo(url, [readAt(2), readAt(3), readAt(4)]);
    await eventually(() => arrived().length === 2);
    release();
    expect((await single).status).toBe(200);
    release();
    await eventually(() => arrived().length === 4);
    release();
    release();
    expect((await batch).status).toBe(200);
  });

  it('wait for the slot of the first call of a batch that ends', async () => {
    const { arrived, release, url } = await withConcurrency(2);
    const batch = postTo(url, [readAt(1), readAt(2), readAt(3)]);
    await eventually(() => arrived().length === 2);
    // A request that begins to wait sets the timer of its rejection. While the time stands still, no other timer has it.
    const timers = vi.spyOn(clock, 'setTimeout');
    onTestFinished(() => {
      timers.mockRestore();
    });
    const { single } = await withoutTime(async () => {
      // Those that were set while rests ended.
      timers.mockClear();
      const single = postTo(url, readAt(4));
      await eventually(() => timers.mock.calls.some(([, ms]) => Math.round(ms) === MAX_WAIT_MS));
      return { single };
    });
    release();
    await eventually(() => arrived().length === 3);
    expect(arrived()).toEqual(['1', '2', '4']);
    release();
    await eventually(() => arrived().length === 4);
    release();
    release();
    for (const { status } of await Promise.all([single, batch])) expect(status).toBe(200);
  });

  it('of a WebSocket wait, and are rejected after a second', async () => {
    const { arrived, release, url } = await withConcurrency(1);
    const caller = await openCaller(url.replace('http', 'ws').replace('/v3/', '/ws/v3/'));
    caller.send(JSON.stringify(readAt(1)), JSON.stringify(readAt(2)), JSON.stringify([readAt(3)]));
    expect(JSON.parse(await caller.next())).toEqual(rejection(2));
    expect(JSON.parse(await caller.next())).toEqual([rejection(3)]);
    expect(arrived()).toEqual(['1']);
    caller.send(JSON.stringify(readAt(4)));
    release();
    expect(JSON.parse(await caller.next())).toMatchObject({ id: 1 });
    await eventually(() => arrived().length === 2);
    release();
    expect(JSON.parse(await caller.next())).toMatchObject({ id: 4 });
    caller.socket.close();
  });

  it.each(['HTTP', 'WebSocket'])('are not parsed above 100 kB, and get one rejection: %s', async (transport) => {
    const { arrived, release, url, sender } = await withSender(transport, { concurrency: '1' });
    const first = postTo(url, readAt(1));
    await eventually(() => arrived().length === 1);
    const spaces = ' '.repeat(100_001);
    const unknown = { ...rejection(0), id: null };
    expect(await sender(JSON.stringify(readAt(2)) + spaces)).toEqual(unknown);
    expect(await sender(JSON.stringify([readAt(3), readAt(4)]) + spaces)).toEqual(unknown);
    expect(await sender('{' + spaces)).toEqual(unknown);
    expect(await sender(JSON.stringify([readAt(5)]))).toEqual([rejection(5)]);
    release();
    expect((await first).status).toBe(200);
  });

  it.each([
    ['HTTP', ''],
    ['HTTP', ' '.repeat(100_001)],
    ['WebSocket', ''],
    ['WebSocket', ' '.repeat(100_001)],
  ])('that are rejected cost a tenth of a unit: %s', async (transport, spaces) => {
    const rules = { concurrency: '1', rate: '0.001', burst: '2' };
    const { arrived, release, url, sender } = await withSender(transport, rules);
    const first = postTo(url, readAt(1));
    await eventually(() => arrived().length === 1);
    expect(await sender(JSON.stringify(readAt(2)) + spaces)).toHaveProperty('error.message', message);
    release();
    expect((await first).status).toBe(200);
    // 0.9 units are left.
    expect(await sender(JSON.stringify(readAt(3)))).toHaveProperty('error.message', 'project ID request rate exceeded');
  });

  it('that wait leave when their caller disconnects', async () => {
    const { gateway, arrived, release, url, path } = await withConcurrency(1);
    const first = postTo(url, readAt(1));
    await eventually(() => arrived().length === 1);
    const leaving = await openRaw(gateway.gateway.port);
    leaving.send(post(path, JSON.stringify(readAt(2))));
    const last = postTo(url, readAt(3));
    leaving.destroy();
    release();
    await eventually(() => arrived().length === 2);
    release();
    for (const { status } of await Promise.all([first, last])) expect(status).toBe(200);
    expect(arrived()).toEqual(['1', '3']);
  });
});

describe('requests whose bodies do not arrive', () => {
  it('count for their key, from its head until they end, and not for others', async () => {
    const one = await withConcurrency(2);
    const slow = [await openSlowBody(one), await openSlowBody(one)];
    const rejected = await postTo(one.url, readAt(1));
    expect([rejected.status, await rejected.json()]).toEqual([429, rejection(1)]);
    const other = one.gateway.post('main', JSON.stringify(readAt(2)));
    await eventually(() => one.arrived().length === 1);
    one.release();
    expect((await other).status).toBe(200);
    slow[0]?.destroy();
    const served = postTo(one.url, readAt(3));
    await eventually(() => one.arrived().length === 2);
    one.release();
    expect((await served).status).toBe(200);
    slow[1]?.destroy();
  });

  it('are rejected without an id above the concurrency, and are not read', async () => {
    const one = await withConcurrency(1);
    const first = await openSlowBody(one);
    const second = await openRaw(one.gateway.gateway.port);
    second.send(head(`POST ${one.path}`, { 'content-length': 100 }));
    second.send('{"id":7,');
    const { status, headers, body } = await second.response();
    expect([status, headers['retry-after'], JSON.parse(body)]).toEqual([429, '01', { ...rejection(0), id: null }]);
    first.destroy();
    second.destroy();
  });

  it('use none of the requests that all keys share', async () => {
    const one = await heldHttp({ requestsMax: '2' }, { batch: false });
    const path = new URL(one.gateway.url('main')).pathname;
    const slow = [await openSlowBody({ ...one, path }), await openSlowBody({ ...one, path })];
    const other = postTo(await addKey(one.gateway, 'main'), readAt(1));
    await eventually(() => one.arrived().length === 1);
    one.release();
    expect((await other).status).toBe(200);
    for (const each of slow) each.destroy();
  });
});

it('rejected requests whose bodies do not arrive count for their address: above 64 the connection is closed', async () => {
  const { gateway } = await heldHttp({});
  const send = async (): Promise<RawConnection> => {
    const slow = await openRaw(gateway.gateway.port);
    slow.send(head('POST /main/v3/unknown', { 'content-length': 100 }));
    expect((await slow.response()).status).toBe(401);
    return slow;
  };
  const open = await Promise.all(Array.from({ length: 64 }, send));
  await (
    await send()
  ).closed;
  open.shift()?.destroy();
  // As soon as the gateway has noticed the close, one more may stay.
  await eventually(async () => {
    const next = await send();
    const stays = staysTrueFor(300, () => true).then(() => true);
    const isOpen = await Promise.race([next.closed.then(() => false), stays]);
    next.destroy();
    return isOpen;
  });
  for (const each of open) each.destroy();
});

it('a key that replaces another one shares its concurrency', async () => {
  const { gateway, arrived, release, url } = await withConcurrency(1);
  const { id } = (await listKeys(gateway.gateway.keys)).find(({ permissions }) => permissions !== undefined) ?? {
    id: '',
  };
  const rotated = await addKey(gateway, 'main', { concurrency: '1', account: id });
  const first = postTo(url, readAt(1));
  await eventually(() => arrived().length === 1);
  expect((await postTo(rotated, readAt(2))).status).toBe(429);
  release();
  expect((await first).status).toBe(200);
});
