import { request } from 'undici';
import { keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { head, openRaw } from '../server/http/raw-connection.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, hang, status, type Exchange } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

const params = ['0x1212121212121212121212121212121212121212', '0x0', 'latest'];
const wordOf = (digit: number): string => `0x${String(digit).repeat(64)}`;

const account = privateKeyToAccount(`0x${'46'.repeat(32)}`);
const raw = await account.signTransaction({ chainId: 5, gas: 21_000n, gasPrice: 1n, to: account.address, nonce: 3 });

let nodes: FakeNode[];
let gateway: TestGateway;

beforeEach(async () => {
  nodes = await Promise.all(
    [1, 2, 3].map((digit) => startFakeNode({ chainId: 5, responses: { eth_getStorageAt: wordOf(digit) } })),
  );
});
afterEach(async () => {
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

/** A network file with these nodes as upstreams, each with its own name. */
function file(indexes: readonly number[], more: object = {}): object {
  const upstreams = indexes.map((index) => ({ name: `node-${index}`, url: nodes[index]?.url }));
  return network(5, [], { upstreams, verify: { nulls: 'never' }, ...more });
}

/** Sends a call. @returns the digit of the node that responded, or the error’s message */
async function callNode(slug = 'main'): Promise<string> {
  const { result, error } = await gateway.call(slug, 'eth_getStorageAt', params);
  return error?.message ?? String(result).at(-1) ?? '';
}

/** Number of calls that each node received. */
function received(): number[] {
  return nodes.map((node) => node.callsOf('eth_getStorageAt').length);
}

/** Number of eth_chainId requests at each node: one from each upstream object created for it. */
function chainIdRequests(): number[] {
  return nodes.map((node) => node.callsOf('eth_chainId').length);
}

function connectionsOf(index: number): number[] {
  return [...new Set(nodes[index]?.callsOf('eth_getStorageAt').map(({ connection }) => connection))];
}

/** One connection to each upstream, so that a new connection is visible. */
async function start(files: Record<string, string | object>): Promise<void> {
  gateway = await startGateway(files, { UPSTREAM_CONNECTIONS: '1' });
}

async function reload(files: Record<string, object | undefined>): Promise<void> {
  gateway.save(files);
  await gateway.gateway.reload();
}

describe('a change of the network files', () => {
  it('adds a network, and retains the connections of the others', async () => {
    await start({ main: file([0]) });
    expect(await callNode()).toBe('1');
    expect(await callNode('more')).toMatch(/^no network at this address; .* base URLs are: \/main$/);
    await reload({ more: file([1]) });
    expect([await callNode('more'), await callNode()]).toEqual(['2', '1']);
    expect(await callNode('none')).toMatch(/ base URLs are: \/main, \/more$/);
    expect(received()).toEqual([2, 1, 0]);
    expect(chainIdRequests()).toEqual([1, 1, 0]);
    expect(connectionsOf(0)).toHaveLength(1);
  });

  it('moves base URLs at once', async () => {
    const at = (baseUrl: string): object => file([0], { baseUrls: [baseUrl] });
    const statuses = (): Promise<number[]> => Promise.all(['one.test', 'two.test'].map(statusAt));
    await start({ main: at('https://one.test') });
    expect(await statuses()).toEqual([200, 404]);
    await reload({ main: at('https://two.test') });
    expect(await statuses()).toEqual([404, 200]);
    expect(received()).toEqual([2, 0, 0]);
    expect(connectionsOf(0)).toHaveLength(1);
  });

  it('retains unchanged upstreams with their connection and chain check', async () => {
    await start({ main: file([0]) });
    expect(await callNode()).toBe('1');
    await reload({ main: file([1, 0], { methods: ['eth'] }) });
    expect(await callNode()).toBe('2');
    await reload({ main: file([0, 2]) });
    expect(await callNode()).toBe('1');
    expect(received()).toEqual([2, 1, 0]);
    expect(chainIdRequests()).toEqual([1, 1, 0]);
    expect(connectionsOf(0)).toHaveLength(1);
    // No network uses this upstream any more.
    await eventually(() => nodes[1]?.connections().length === 0);
    expect(nodes[0]?.connections()).toEqual(connectionsOf(0));
  });

  it('retains the circuit state of unchanged upstreams', async () => {
    await start({ main: file([0, 1]) });
    for (let times = 0; times < 3; times++) {
      nodes[0]?.next(status(401));
      expect(await callNode()).toBe('2');
    }
    await reload({ main: file([0, 1, 2]) });
    expect([await callNode(), await callNode()]).toEqual(['2', '2']);
    expect(received()).toEqual([3, 5, 0]);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(0);
  });

  it('replaces an upstream with another URL or headers, and continues its metrics under the same name', async () => {
    await start({ main: file([0]) });
    expect(await callNode()).toBe('1');
    const named = (index: number, more: object = {}): object => ({
      main: network(5, [], { upstreams: [{ name: 'node-0', url: nodes[index]?.url, ...more }] }),
    });
    await reload(named(1) as Record<string, object>);
    expect(await callNode()).toBe('2');
    await reload(named(1, { headers: { 'x-plan': 'paid' } }) as Record<string, object>);
    expect(await callNode()).toBe('2');
    expect(nodes[1]?.callsOf('eth_getStorageAt').map(({ headers }) => headers['x-plan'])).toEqual([undefined, 'paid']);
    expect([received(), chainIdRequests()]).toEqual([
      [1, 2, 0],
      [1, 2, 0],
    ]);
    await eventually(() => nodes[0]?.connections().length === 0);
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    expect(value('gatehouse_calls_total', { method: 'eth_getStorageAt', outcome: 'result' })).toBe(3);
  });

  it('lets a call in progress end at its upstream, and closes the upstream then', async () => {
    await start({ main: file([0]), more: file([1]) });
    const held: Exchange[] = [];
    for (const node of nodes.slice(0, 2)) node.next((exchange) => void held.push(exchange));
    const calls = [callNode(), callNode('more')];
    await eventually(() => received().join() === '1,1,0');
    await reload({ main: file([2]), more: undefined });
    expect([await callNode(), await callNode('more')]).toEqual([
      '3',
      expect.stringContaining('no network at this address'),
    ]);
    expect(nodes[0]?.connections()).toHaveLength(1);
    for (const exchange of held) asUsual(exchange);
    expect(await Promise.all(calls)).toEqual(['1', '2']);
    await eventually(() => nodes[0]?.connections().length === 0 && nodes[1]?.connections().length === 0);
    expect(received()).toEqual([1, 1, 1]);
  });

  it('serves a request with the network that was active when its headers arrived', async () => {
    await start({ main: file([0]) });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
    const connection = await openRaw(gateway.gateway.port);
    const length = { 'content-length': body.length, expect: '100-continue' };
    connection.send(head(`POST /main/v3/${gateway.key}`, length));
    expect((await connection.response()).status).toBe(100);
    await reload({ main: file([1]), more: file([2]) });
    await reload({ main: undefined });
    connection.send(body);
    expect(JSON.parse((await connection.response()).body)).toMatchObject({ result: wordOf(1) });
    connection.destroy();
    expect(received()).toEqual([1, 0, 0]);
    await eventually(() => nodes[0]?.connections().length === 0);
  });

  it('retains an upstream until the last call that may need it, over several changes', async () => {
    await start({ main: file([0]) });
    const held: Exchange[] = [];
    nodes[0]?.next((exchange) => void held.push(exchange));
    const call = callNode();
    await eventually(() => received()[0] === 1);
    await reload({ main: file([0, 1]) });
    await reload({ main: file([1, 2]) });
    expect(await callNode()).toBe('2');
    for (const exchange of held) asUsual(exchange);
    expect(await call).toBe('1');
    expect(received()).toEqual([1, 1, 0]);
    await eventually(() => nodes[0]?.connections().length === 0);
  });

  it('retains which upstream accepted a transaction', async () => {
    await start({ main: file([0, 1]) });
    for (const node of nodes) node.response('eth_getTransactionCount', `0x${nodes.indexOf(node) + 1}`);
    for (const node of nodes) node.response('eth_sendRawTransaction', keccak256(raw));
    nodes[0]?.next(status(500));
    expect(await gateway.call('main', 'eth_sendRawTransaction', [raw])).toMatchObject({
      result: keccak256(raw),
    });
    const count = async (): Promise<unknown> =>
      (await gateway.call('main', 'eth_getTransactionCount', [account.address, 'pending'])).result;
    expect(await count()).toBe('0x2');
    await reload({ main: file([2, 0, 1]) });
    expect(await count()).toBe('0x2');
    // That upstream is removed.
    await reload({ main: file([2, 0]) });
    const hasNode1Metrics = async (): Promise<boolean> =>
      (await readMetrics(gateway.address)).text.includes('"node-1"');
    await eventually(async () => !(await hasNode1Metrics()));
    expect(await count()).toBe('0x3');
    expect(await hasNode1Metrics()).toBe(false);
    expect(nodes.map((node) => node.callsOf('eth_getTransactionCount').length)).toEqual([0, 2, 1]);
  });

  it('lets a call in progress retry at the upstreams of the previous network', async () => {
    await start({ main: file([0, 1]) });
    nodes[0]?.next(hang);
    const call = callNode();
    await eventually(() => received()[0] === 1);
    await reload({ main: file([2]) });
    // Closes its connections and rejects new ones.
    await nodes[0]?.refuse();
    expect(await call).toBe('2');
    expect(received()).toEqual([1, 1, 0]);
    await eventually(() => nodes[1]?.connections().length === 0);
  });

  it('removes only the metrics of removed networks and upstreams', async () => {
    await start({ main: file([0, 1]), more: file([2]) });
    await nodes[0]?.refuse();
    const held: Exchange[] = [];
    nodes[2]?.next((exchange) => void held.push(exchange));
    const late = callNode('more');
    await eventually(() => received()[2] === 1);
    expect([await callNode(), await callNode()]).toEqual(['2', '2']);
    const labels = async (): Promise<string> => {
      const { samples } = await readMetrics(gateway.address);
      const sources = samples.map(({ labels: { network: slug, upstream } }) => `${slug ?? ''}/${upstream ?? ''}`);
      return [...new Set(sources)].toSorted().join(' ');
    };
    expect(await labels()).toBe('/ main/ main/node-0 main/node-1 more/ more/node-2');
    await reload({ main: file([1]), more: undefined });
    for (const exchange of held) asUsual(exchange);
    expect(await late).toBe('3');
    await eventually(async () => (await labels()) === '/ main/ main/node-1');
    expect(await callNode()).toBe('2');
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_calls_total', { method: 'eth_getStorageAt', outcome: 'result' })).toBe(3);
    expect(value('gatehouse_calls_in_flight', { network: 'main' })).toBe(0);
    expect(received()).toEqual([0, 3, 1]);
  });

  it('of the chain id retains no state of the previous chain', async () => {
    await start({ main: file([0]) });
    expect(await callNode()).toBe('1');
    await reload({ main: { ...file([0]), chainId: 6 } });
    expect(await callNode()).toBe('no upstream could answer');
    expect(await gateway.call('main', 'eth_chainId')).toMatchObject({ result: '0x6' });
    expect([received(), chainIdRequests()]).toEqual([
      [1, 0, 0],
      [2, 0, 0],
    ]);
  });

  it('of comments only has no effect', async () => {
    await start({ main: JSON.stringify(file([0])) });
    expect(await callNode()).toBe('1');
    gateway.save({ main: `# ours\n${JSON.stringify(file([0]))}` });
    await gateway.gateway.reload();
    expect(await callNode()).toBe('1');
    expect([received(), chainIdRequests(), connectionsOf(0).length]).toEqual([[2, 0, 0], [1, 0, 0], 1]);
  });
});

/** The status of a call at `https://<host>`. */
async function statusAt(host: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getStorageAt', params });
  const options = { method: 'POST', headers: { host }, body } as const;
  const response = await request(`${gateway.address}/v3/${gateway.key}`, options);
  await response.body.dump();
  return response.statusCode;
}
