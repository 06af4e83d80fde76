import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../auth/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, status, type Behaviour } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openCaller, socketUrl } from '../server/websocket/caller.ts';
import { errorText, expectResponse, resultText } from '../server/http/expect-response.ts';

const word = `0x${'07'.padStart(64, '0')}`;
const params = [`0x${'12'.repeat(20)}`, '0x0', 'latest'];
/** Each of another position: what is asked twice at the same time is asked once. */
let position = 0;
const read = (id = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_getStorageAt', params: [params[0], `0x${++position}`, 'latest'] });
const local = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';

let held: (() => void)[];
let nodes: FakeNode[];
let gateway: TestGateway;

/** Replies only when the test says so. */
const hold: Behaviour = (exchange) => {
  held.push(() => {
    asUsual(exchange);
  });
};
const letGo = (): void => {
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
    { NETWORK_CONCURRENCY: '2', NETWORK_QUEUE_MAX: '1' },
  );
  for (const slug of ['main', 'other'])
    await expectResponse(await gateway.post(slug, read()), 200, resultText('1', word));
  nodes[0]?.always(hold, 'eth_getStorageAt');
});
afterEach(async () => {
  letGo();
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

/** Two calls with the upstream, and one that waits. */
async function fill(): Promise<Promise<Response>[]> {
  const requested = [gateway.post('main', read()), gateway.post('main', read())];
  await eventually(() => reads() === 3, 2_000);
  requested.push(gateway.post('main', read()));
  await eventually(async () => (await queued()) === 1, 900);
  return requested;
}

async function expectOverloaded(response: Response): Promise<void> {
  expect(response.headers.get('retry-after')).toBe('01');
  await expectResponse(response, 503, errorText(-32603, 'too many calls under way on this network', '1'));
}

describe('a network whose upstream hangs', () => {
  it('refuses what is more than its bounds at once, and answers the rest when the upstream does', async () => {
    const requested = await fill();
    await expectOverloaded(await gateway.post('main', read()));
    expect(reads()).toBe(3);
    const responses = held.splice(0);
    responses.shift()?.();
    // The one that waited has taken the place of the one that ended.
    await eventually(() => reads() === 4, 900);
    for (const response of responses) response();
    letGo();
    for (const response of await Promise.all(requested)) await expectResponse(response, 200, resultText('1', word));
    expect(await queued()).toBe(0);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_calls_total', { network: 'main', outcome: 'overloaded' })).toBe(1);
  });

  it('still gives what the gateway knows by itself, and leaves other networks alone', async () => {
    const requested = await fill();
    await expectResponse(await gateway.post('main', local), 200, resultText('1', '5'));
    await expectResponse(await gateway.post('other', read()), 200, resultText('1', word));
    letGo();
    await eventually(() => reads() === 4, 900);
    letGo();
    for (const response of await Promise.all(requested)) await expectResponse(response, 200, resultText('1', word));
  });

  it('lets nobody wait for more than a second', async () => {
    const requested = await fill();
    const waited = requested.pop() as Promise<Response>;
    await expectOverloaded(await waited);
    expect(reads()).toBe(3);
    letGo();
    for (const response of await Promise.all(requested)) await expectResponse(response, 200, resultText('1', word));
    expect(await queued()).toBe(0);
  });

  it('refuses calls of a batch, and messages of a WebSocket, each under its own id', async () => {
    const batch = gateway.post('main', `[${[1, 2, 3, 4, 5].map((id) => read(id)).join()},${local}]`);
    await eventually(() => reads() === 3, 2_000);
    const caller = await openCaller(socketUrl(gateway, 'main'));
    expect(await caller.call('eth_getStorageAt', params, 9)).toMatchObject({ id: 9, error: { code: -32603 } });
    letGo();
    await eventually(() => reads() === 4, 900);
    letGo();
    const responses = (await (await batch).json()) as { id: number; result?: unknown; error?: { code: number } }[];
    expect(responses.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 1]);
    expect(responses.map(({ result }) => result)).toEqual([word, word, word, undefined, undefined, '5']);
    expect(responses[4]?.error?.code).toBe(-32603);
  });
});

it('calls that fail make room as those that are answered do', async () => {
  nodes[0]?.always(status(500), 'eth_getStorageAt');
  for (let call = 0; call < 5; call++) expect((await gateway.post('main', read())).status).toBe(503);
  nodes[0]?.always(undefined, 'eth_getStorageAt');
  await expectResponse(await gateway.post('main', read()), 200, resultText('1', word));
  const { value } = await readMetrics(gateway.address);
  expect(value('gatehouse_calls_total', { network: 'main', outcome: 'overloaded' })).toBeUndefined();
});
