import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { errorText, resultText } from '../http/expect-response.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { asUsual, hang, slow, type Exchange } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';

const word = `0x${'0'.repeat(64)}`;
const account = '0x1212121212121212121212121212121212121212';
/** Each reads another slot: identical calls would be coalesced. */
const storageAt = (id: number | string, slot = typeof id === 'number' ? `0x${id}` : '0x0'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_getStorageAt","params":["${account}","${slot}","latest"]}`;
const netVersion = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"net_version"}`;

let node: FakeNode;
let gateway: TestGateway;
let caller: Caller;
const open = async (): Promise<Caller> => (caller = await openCaller(socketUrl(gateway, 'main')));

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
  // Calls in one batch would be delayed together.
  const upstreams = [{ name: 'node', url: node.url, batch: false }];
  gateway = await startGateway(
    { main: network(5, [], { upstreams }) },
    { socketMessagesMax: '4', BODY_MAX_BYTES: '200000' },
  );
});
afterEach(() => {
  caller.socket.terminate();
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

describe('a message', () => {
  it.each(['0', '""', 'null', '9007199254740993', '1.5', '1.0', '-0', '"a\\u0062"'])(
    'with the id %s gets a response with that id',
    async (id) => {
      await open();
      caller.send(netVersion(id), storageAt(id));
      expect([await caller.next(), await caller.next()]).toEqual([resultText(id, '5'), resultText(id, word)]);
    },
  );

  it.each([
    ['{', errorText(-32700, 'parse error: the body is not JSON')],
    ['', errorText(-32700, 'parse error: the body is not JSON')],
    ['[]', errorText(-32600, 'empty batch')],
    ['1', errorText(-32600, 'invalid request: expected a JSON-RPC 2.0 request object')],
    ['['.repeat(100), errorText(-32600, 'invalid request: nested too deep, or too many values')],
    [
      `[${Array(1001).fill('1').join(',')}]`,
      `[${errorText(-32600, 'batch too large: at most 1000 calls are allowed')}]`,
    ],
    [
      `[1,${Array(1000).fill(netVersion('5.0')).join(',')}]`,
      `[${errorText(-32600, 'batch too large: at most 1000 calls are allowed', '5.0')}]`,
    ],
    // ethers-rs sends the second when a subscription is dropped, and ends all its calls at a response with id null.
    ['{"id":7,"method":"eth_chainId"}', errorText(-32600, 'invalid request: expected jsonrpc to be "2.0"', '7')],
    [
      '{"jsonrpc":"2.0","id":7,"method":"eth_unsubscribe","params":"0x1"}',
      errorText(-32600, 'invalid request: expected params to be an array', '7'),
    ],
    [
      '{"jsonrpc":"2.0","id":7,"method":"eth_nonsense"}',
      errorText(-32601, 'The method eth_nonsense does not exist/is not available', '7'),
    ],
  ])('that is invalid gets an error, and the socket stays open: %.30s', async (text, response) => {
    await open();
    caller.send(text, netVersion('8'));
    expect([await caller.next(), await caller.next()].toSorted()).toEqual([response, resultText('8', '5')].toSorted());
  });

  it('may be a batch: its responses are one message, in order, without one for the notification', async () => {
    await open();
    const notification = '{"jsonrpc":"2.0","method":"net_version"}';
    caller.send(`[${storageAt(1)},${notification},2,${netVersion('"x"')}]`);
    const invalid = errorText(-32600, 'invalid request: expected a JSON-RPC 2.0 request object');
    expect(await caller.next()).toBe(`[${resultText('1', word)},${invalid},${resultText('"x"', '5')}]`);
  });

  it('of a thousand calls gets all responses', async () => {
    await open();
    caller.send(`[${Array.from({ length: 1000 }, (_, id) => storageAt(id, `0x${id.toString(16)}`)).join(',')}]`);
    const responses = JSON.parse(await caller.next()) as { id: number; result: string }[];
    expect(responses.map(({ id }) => id)).toEqual(Array.from({ length: 1000 }, (_, id) => id));
    expect(responses.every(({ result }) => result === word)).toBe(true);
  });

  it('with notifications only gets no response', async () => {
    await open();
    const notification = '{"jsonrpc":"2.0","method":"net_version"}';
    caller.send(notification, `[${notification}]`, netVersion('1'));
    await caller.next();
    await staysTrueFor(50, () => caller.unread.length === 0);
  });

  it('that is binary is handled as text', async () => {
    await open();
    caller.socket.send(Buffer.from(netVersion('"€"')), { binary: true });
    expect(await caller.next()).toBe(resultText('"€"', '5'));
  });

  it('in several frames is one message', async () => {
    await open();
    caller.socket.send(netVersion('3').slice(0, 20), { fin: false });
    caller.socket.send(netVersion('3').slice(20), { fin: true });
    expect(await caller.next()).toBe(resultText('3', '5'));
  });

  it('that is larger than a body may be closes the socket with 1009', async () => {
    await open();
    caller.send(storageAt(1, ' '.repeat(200_000)));
    expect((await caller.closed).code).toBe(1009);
    await expect.poll(() => closedBy('message-too-large')).toBeGreaterThan(0);
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });

  it('that breaks the protocol closes the socket with 1002', async () => {
    await open();
    const { _socket: wire } = caller.socket as unknown as { _socket: { write(bytes: Buffer): void } };
    wire.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    expect((await caller.closed).code).toBe(1002);
    await expect.poll(() => closedBy('bad-frame')).toBeGreaterThan(0);
  });
});

describe('messages of one socket', () => {
  it('get their responses in one write if these are ready in one turn of the event loop', async () => {
    await open();
    const { _socket: wire } = caller.socket as unknown as { _socket: Readable };
    const reads: Buffer[] = [];
    wire.on('data', (bytes: Buffer) => reads.push(bytes));
    // All messages in one packet.
    const sender = wire as Readable & { cork(): void; uncork(): void };
    sender.cork();
    for (let id = 1; id <= 20; id++) caller.send(netVersion(String(id)));
    sender.uncork();
    for (let id = 1; id <= 20; id++) await caller.next();
    expect(reads.length).toBeLessThanOrEqual(2);
  });

  it('are handled in parallel, and each response is sent when it is ready', async () => {
    await open();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    // On two new connections to the node, the second call may arrive first.
    caller.send(storageAt(1));
    await eventually(() => held.length === 1);
    caller.send(storageAt(2), netVersion('3'));
    const idOfNext = async (): Promise<number> => (JSON.parse(await caller.next()) as { id: number }).id;
    expect([await idOfNext(), await idOfNext()].toSorted()).toEqual([2, 3]);
    for (const exchange of held) asUsual(exchange);
    expect(await idOfNext()).toBe(1);
  });

  it('beyond the bound in progress wait unread, and get responses later', async () => {
    await open();
    const exchanges: Exchange[] = [];
    node.always((exchange) => void exchanges.push(exchange), 'eth_getStorageAt');
    const before = node.callsOf('eth_getStorageAt').length;
    const padding = ' '.repeat(100_000);
    const sent = Array.from({ length: 100 }, (_, id) => storageAt(id) + padding);
    caller.send(...sent);
    await expect.poll(() => node.callsOf('eth_getStorageAt').length - before, { interval: 5 }).toBe(4);
    await staysTrueFor(50, () => node.callsOf('eth_getStorageAt').length - before === 4);
    // 10 MB: more than the kernel and the gateway buffer.
    expect(caller.socket.bufferedAmount).toBeGreaterThan(1_000_000);
    node.always(undefined, 'eth_getStorageAt');
    for (const exchange of exchanges) asUsual(exchange);
    const ids = new Set<number>();
    while (ids.size < sent.length) ids.add((JSON.parse(await caller.next()) as { id: number }).id);
  });

  it('that wait get responses too if they arrived in one packet', async () => {
    await open();
    node.always(slow(20), 'eth_getStorageAt');
    caller.send(...Array.from({ length: 40 }, (_, id) => storageAt(id)));
    const ids: number[] = [];
    while (ids.length < 40) ids.push((JSON.parse(await caller.next()) as { id: number }).id);
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, id) => id));
    node.always(undefined, 'eth_getStorageAt');
  });
});

describe('a client that disconnects with calls in progress', () => {
  it.each(['close', 'terminate'] as const)('by %s has its calls cancelled', async (way) => {
    await open();
    const before = node.callsOf('eth_getStorageAt').length;
    let isCancelled = false;
    node.next(({ response }) => void response.on('close', () => (isCancelled = true)));
    caller.send(storageAt(1));
    await expect.poll(() => node.callsOf('eth_getStorageAt').length, { interval: 5 }).toBeGreaterThan(before);
    caller.socket[way]();
    await caller.closed;
    await eventually(() => isCancelled);
    await expect.poll(async () => (await readMetrics(gateway.address)).value('gatehouse_websockets_open')).toBe(0);
    expect(await closedBy('caller')).toBeGreaterThan(0);
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });

  it('has its waiting messages dropped', async () => {
    await open();
    const before = node.callsOf('eth_getStorageAt').length;
    node.always(hang, 'eth_getStorageAt');
    caller.send(...Array.from({ length: 20 }, (_, id) => storageAt(id)));
    await expect.poll(() => node.callsOf('eth_getStorageAt').length - before, { interval: 5 }).toBe(4);
    caller.socket.terminate();
    node.always(undefined, 'eth_getStorageAt');
    await staysTrueFor(100, () => node.callsOf('eth_getStorageAt').length - before === 4);
  });
});

async function closedBy(reason: string): Promise<number> {
  return (
    (await readMetrics(gateway.address)).value('gatehouse_websockets_closed_total', { network: 'main', reason }) ?? 0
  );
}
