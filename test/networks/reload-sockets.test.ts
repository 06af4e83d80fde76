import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorText } from '../server/http/expect-response.ts';
import { eventually } from '../support/eventually.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { openCaller, socketUrl, type Caller } from '../server/websocket/caller.ts';

const params = ['0x1212121212121212121212121212121212121212', '0x0', 'latest'];
const wordOf = (digit: number): string => `0x${String(digit).repeat(64)}`;
const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
const networkRemoved = { code: 1001, reason: 'this network is not served any more' };

let nodes: FakeNode[];
let gateway: TestGateway;
let callers: Caller[];

beforeEach(async () => {
  nodes = await Promise.all(
    [1, 2].map((digit) => startFakeNode({ chainId: 5, responses: { eth_getStorageAt: wordOf(digit) } })),
  );
  gateway = await startGateway({ main: file([0]), still: file([0]) }, { UPSTREAM_CONNECTIONS: '1' });
  callers = await Promise.all(['main', 'still'].map((slug) => openCaller(socketUrl(gateway, slug))));
});
afterEach(async () => {
  for (const { socket } of callers) socket.terminate();
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

function file(indexes: readonly number[], more: object = {}): object {
  const upstreams = indexes.map((index) => ({ name: `node-${index}`, url: nodes[index]?.url }));
  return network(5, [], { upstreams, verify: { nulls: 'never' }, ...more });
}

async function reload(files: Record<string, object | undefined>): Promise<void> {
  gateway.save(files);
  await gateway.gateway.reload();
}

async function callOver(caller: Caller | undefined): Promise<unknown> {
  const { result } = (await caller?.call('eth_getStorageAt', params)) as { result?: string };
  return result?.at(-1);
}

const received = (): number[] => nodes.map((node) => node.callsOf('eth_getStorageAt').length);
const open = async (slug: string): Promise<number | undefined> =>
  (await readMetrics(gateway.address)).value('gatehouse_websockets_open', { network: slug });

describe('client WebSockets, when network files change', () => {
  it('use the new version of their network', async () => {
    const [main, still] = callers;
    expect([await callOver(main), await callOver(still)]).toEqual(['1', '1']);
    const before = nodes[0]?.connections().toSorted();
    await reload({ main: file([1], { methods: ['eth_getStorageAt'] }) });
    expect([await callOver(main), await callOver(still)]).toEqual(['2', '1']);
    expect(await main?.call('net_version')).toMatchObject({ error: { code: -32601 } });
    expect(received()).toEqual([3, 1]);
    expect([await open('main'), await open('still')]).toEqual([1, 1]);
    // The connection for `main` was closed, the one for `still` was retained.
    await eventually(() => nodes[0]?.connections().length === 1);
    expect(before).toEqual(expect.arrayContaining(nodes[0]?.connections() ?? []));
    await reload({ main: file([0]) });
    expect([await callOver(main), received()]).toEqual(['1', [4, 1]]);
  });

  it('get the response to a call in progress from the previous upstream', async () => {
    const [main] = callers;
    const held: Exchange[] = [];
    nodes[0]?.next((exchange) => void held.push(exchange));
    main?.send(call);
    await eventually(() => received()[0] === 1);
    await reload({ main: file([1]) });
    for (const exchange of held) asUsual(exchange);
    expect(JSON.parse((await main?.next()) ?? '')).toMatchObject({ result: wordOf(1) });
    expect(await callOver(main)).toBe('2');
    expect(received()).toEqual([1, 1]);
  });

  it.each([
    ['is removed', () => ({ main: undefined })],
    ['has another chain id', () => ({ main: { ...file([0]), chainId: 6 } })],
  ])('whose network %s are closed after the responses to their calls', async (_, change) => {
    const [main, still] = callers;
    expect(await callOver(still)).toBe('1');
    const before = nodes[0]?.connections();
    const held: Exchange[] = [];
    nodes[0]?.next((exchange) => void held.push(exchange));
    main?.send(call);
    await eventually(() => received()[0] === 2);
    await reload(change());
    main?.send('{"jsonrpc":"2.0","id":"x","method":"net_version"}');
    expect(await main?.next()).toBe(errorText(-32002, 'no network at this address', '"x"'));
    for (const exchange of held) asUsual(exchange);
    expect(JSON.parse((await main?.next()) ?? '')).toMatchObject({ result: wordOf(1) });
    expect(await main?.closed).toEqual(networkRemoved);
    expect(await callOver(still)).toBe('1');
    expect(received()).toEqual([3, 0]);
    expect(nodes[0]?.connections()).toEqual(expect.arrayContaining(before ?? []));
  });

  it('leave no metrics of a removed network', async () => {
    const [main, still] = callers;
    await reload({ main: undefined });
    expect(await main?.closed).toEqual(networkRemoved);
    await eventually(async () => !(await readMetrics(gateway.address)).text.includes('network="main"'));
    expect(await callOver(still)).toBe('1');
    expect([await open('main'), await open('still'), received()]).toEqual([undefined, 1, [1, 0]]);
    await reload({ main: file([1]) });
    const again = await openCaller(socketUrl(gateway, 'main'));
    callers.push(again);
    expect([await callOver(again), await open('main')]).toEqual(['2', 1]);
  });
});
