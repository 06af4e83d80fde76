import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, status, type Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { slowTimers } from '../support/slow-timers.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { errorText, expectResponse, resultText } from '../server/http/expect-response.ts';

const word = `0x${'07'.padStart(64, '0')}`;
const params = [`0x${'12'.repeat(20)}`, '0x0', 'latest'];
/** Each call has another position, because identical calls would be coalesced. */
let position = 0;
const read = (id = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_getStorageAt', params: [params[0], `0x${++position}`, 'latest'] });
const local = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';

let held: (() => void)[];
let nodes: FakeNode[];
let gateway: TestGateway;

/** Responds when the test releases it. */
const hold: Behaviour = (exchange) => {
  held.push(() => {
    asUsual(exchange);
  });
};
const release = (): void => {
  for (const response of held.splice(0)) response();
};
const reads = (): number => nodes[0]?.callsOf('eth_getStorageAt').length ?? 0;
const queued = async (): Promise<number | undefined> =>
  (await readMetrics(gateway.address)).value('gatehouse_calls_queued', { network: 'main' });

beforeEach(async () => {
  held = [];
  nodes = await Promise.all([5, 6].map((chainId) => startFakeNode({ chainId, responses: { eth_getStorageAt: word } })));
  const [main = '', other = ''] = nodes.map(({ url }) => url);
  gateway = await startGateway(
    { main: network(5, [main]), other: network(6, [other]) },
    { networkConcurrency: '2', networkQueueMax: '1' },
  );
  for (const slug of ['main', 'other'])
    await expectResponse(await gateway.post(slug, read()), 200, resultText('1', word));
  nodes[0]?.always(hold, 'eth_getStorageAt');
});
afterEach(async () => {
  release();
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

/** Starts two calls in flight. */
async function useAllPlaces(): Promise<Promise<Response>[]> {
  const pending = [gateway.post('main', read()), gateway.post('main', read())];
  await eventually(() => reads() === 3);
  return pending;
}

/** The same, and one that waits until there is a place. */
async function fill(): Promise<Promise<Response>[]> {
  slowTimers();
  const pending = await useAllPlaces();
  pending.push(gateway.post('main', read()));
  await eventually(async () => (await queued()) === 1);
  return pending;
}

async function expectOverloaded(response: Response): Promise<void> {
  expect(response.headers.get('retry-after')).toBe('01');
  await expectResponse(response, 503, errorText(-32603, 'too many calls in flight on this network', '1'));
}

describe('a network whose upstream hangs', () => {
  it('rejects calls above its limits at once, and serves the others when the upstream responds', async () => {
    const pending = await fill();
    await expectOverloaded(await gateway.post('main', read()));
    expect(reads()).toBe(3);
    const responses = held.splice(0);
    responses.shift()?.();
    // The waiting call takes the place of the one that ended.
    await eventually(() => reads() === 4);
    for (const response of responses) response();
    release();
    for (const response of await Promise.all(pending)) await expectResponse(response, 200, resultText('1', word));
    expect(await queued()).toBe(0);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_calls_total', { network: 'main', outcome: 'overloaded' })).toBe(1);
  });

  it('still serves methods without upstreams, and does not affect other networks', async () => {
    const pending = await fill();
    await expectResponse(await gateway.post('main', local), 200, resultText('1', '5'));
    await expectResponse(await gateway.post('other', read()), 200, resultText('1', word));
    release();
    await eventually(() => reads() === 4);
    release();
    for (const response of await Promise.all(pending)) await expectResponse(response, 200, resultText('1', word));
  });

  it('lets no call wait for more than a second', async () => {
    const pending = await useAllPlaces();
    await expectOverloaded(await gateway.post('main', read()));
    expect(reads()).toBe(3);
    release();
    for (const response of await Promise.all(pending)) await expectResponse(response, 200, resultText('1', word));
    expect(await queued()).toBe(0);
  });

  it('gives the place of a waiting caller who disconnects to the next', async () => {
    slowTimers();
    const pending = await useAllPlaces();
    const left = new AbortController();
    const leaving = fetch(gateway.url('main'), { method: 'POST', body: read(), signal: left.signal });
    await eventually(async () => (await queued()) === 1);
    left.abort();
    await expect(leaving).rejects.toThrow('aborted');
    await eventually(async () => (await queued()) === 0);
    pending.push(gateway.post('main', read()));
    await eventually(async () => (await queued()) === 1);
    release();
    await eventually(() => reads() === 4);
    release();
    for (const response of await Promise.all(pending)) await expectResponse(response, 200, resultText('1', word));
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_calls_total', { network: 'main', outcome: 'caller-left' })).toBe(1);
  });

  it('rejects calls of a batch and messages of a WebSocket, each with its own id', async () => {
    slowTimers();
    const batch = gateway.post('main', `[${[1, 2, 3, 4, 5].map((id) => read(id)).join()},${local}]`);
    await eventually(() => reads() === 3);
    const caller = await openCaller(socketUrl(gateway, 'main'));
    expect(await caller.call('eth_getStorageAt', params, 9)).toMatchObject({ id: 9, error: { code: -32603 } });
    release();
    await eventually(() => reads() === 4);
    release();
    const responses = (await (await batch).json()) as { id: number; result?: unknown; error?: { code: number } }[];
    expect(responses.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 1]);
    expect(responses.map(({ result }) => result)).toEqual([word, word, word, undefined, undefined, '5']);
    expect(responses[4]?.error?.code).toBe(-32603);
  });
});

it('failed calls leave their places as successful ones do', async () => {
  nodes[0]?.always(status(500), 'eth_getStorageAt');
  for (let call = 0; call < 5; call++) expect((await gateway.post('main', read())).status).toBe(503);
  nodes[0]?.always(undefined, 'eth_getStorageAt');
  await expectResponse(await gateway.post('main', read()), 200, resultText('1', word));
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_calls_total', { network: 'main', outcome: 'overloaded' })).toBeUndefined();
});
