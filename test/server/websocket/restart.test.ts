import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { clock } from '../../../gateway/clock/clock.ts';
import { errorText, resultText } from '../http/expect-response.ts';
import { head, openRaw } from '../http/raw-connection.ts';
import { asUsual, hang, slow, type Exchange } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import { untilGatewayHasRead } from '../http/gateway-socket.ts';
import { elasticClock, withoutTime } from '../../support/elastic-clock.ts';
import { eventually } from '../../support/eventually.ts';

const word = `0x${'0'.repeat(64)}`;
const storageAt =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}';
const restart = { code: 1012, reason: 'service restart' };

let node: FakeNode;
let gateway: TestGateway;
const callers: Caller[] = [];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
});
afterEach(async () => {
  for (const { socket } of callers.splice(0)) socket.terminate();
  await gateway.stop();
});
afterAll(() => node.close());

async function start(env: Record<string, string> = {}): Promise<void> {
  gateway = await startGateway({ main: network(5, [node.url]) }, env);
}

async function open(): Promise<Caller> {
  const caller = await openCaller(socketUrl(gateway, 'main'));
  callers.push(caller);
  return caller;
}

async function inFlight(count = 1): Promise<void> {
  const before = node.callsOf('eth_getStorageAt').length;
  await expect.poll(() => node.callsOf('eth_getStorageAt').length, { interval: 5 }).toBe(before + count);
}

async function drained(): Promise<number> {
  const begun = clock.now();
  await gateway.gateway.drain();
  return clock.now() - begun;
}

describe('a gateway that drains', () => {
  it('closes sockets with 1012; a single one at once', async () => {
    // Several would close within half of this time, which is longer than the test may take.
    await start({ DRAIN_TIMEOUT_MS: '900000' });
    const caller = await open();
    await gateway.gateway.drain();
    expect(await caller.closed).toEqual(restart);
  });

  it('accepts sockets and handles their calls until its delay is over', async () => {
    await start();
    const before = await open();
    const drain = gateway.gateway.drain(2_000);
    const late = await open();
    for (const caller of [before, late]) expect(await caller.call('net_version')).toMatchObject({ result: '5' });
    await drain;
    for (const caller of [before, late]) expect(await caller.closed).toEqual(restart);
  });

  it('rejects further calls, each under its own id', async () => {
    await start();
    const caller = await open();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    caller.send(storageAt);
    await inFlight();
    const end = drained();
    // The drain reaches the socket soon, and it stays open because of the call in progress.
    const rejection = errorText(-32603, 'this gateway is about to stop: connect again', '"x"');
    await eventually(async () => {
      caller.send('{"jsonrpc":"2.0","id":"x","method":"net_version"}');
      return (await caller.next()) === rejection;
    });
    for (const exchange of held) asUsual(exchange);
    expect(await caller.next()).toBe(resultText('1', word));
    await end;
    expect(await caller.closed).toEqual(restart);
  });

  it('completes the calls in progress, and those that waited, before it closes', async () => {
    await start({ socketMessagesMax: '2' });
    const caller = await open();
    node.always(slow(500));
    caller.send(storageAt, storageAt, storageAt, storageAt, storageAt);
    await inFlight(2);
    const drain = drained();
    for (let count = 0; count < 5; count++) expect(await caller.next()).toBe(resultText('1', word));
    expect(await caller.closed).toEqual(restart);
    node.always(undefined);
    expect(await drain).toBeGreaterThan(300);
  });

  it('does not wait for messages that are read slowly, because very many before them were rejected', async () => {
    await start({ DRAIN_TIMEOUT_MS: '900000' });
    const caller = await open();
    let drain: Promise<void> | undefined;
    await withoutTime(async () => {
      caller.send(...Array.from({ length: 300 }, () => '{}'));
      await eventually(() => caller.unread.length > 100);
      drain = gateway.gateway.drain();
      // Less than the delay of the messages.
      for (let steps = 0; steps < 9; steps++) await elasticClock().advance(100);
      await eventually(() => caller.socket.readyState === WebSocket.CLOSED);
    });
    expect(await caller.closed).toEqual(restart);
    await drain;
  });

  it('closes many sockets one after another, within half of DRAIN_TIMEOUT_MS', async () => {
    await start({ DRAIN_TIMEOUT_MS: '5000' });
    let ended = 0;
    const opened = await Promise.all(Array.from({ length: 30 }, open));
    for (const { closed } of opened) void closed.then(() => ended++);
    await withoutTime(async () => {
      const drain = gateway.gateway.drain();
      // A socket that is not closed yet is still served.
      expect(await opened.at(-1)?.call('net_version')).toMatchObject({ result: '5' });
      await elasticClock().advance(1_250);
      await eventually(() => ended > 5);
      expect(ended).toBeLessThan(25);
      await elasticClock().advance(1_250);
      await drain;
    });
    for (const { closed } of opened) expect(await closed).toEqual(restart);
  });

  it('rejects new sockets with 503, on a connection that was open before', async () => {
    await start();
    const busy = await open();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    busy.send(storageAt);
    await inFlight();
    const connection = await openRaw(gateway.gateway.port);
    connection.send('G');
    await untilGatewayHasRead(connection.socket);
    const drain = drained();
    const headers = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': 13 };
    const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    connection.send(head(`GET /main/ws/v3/${gateway.key}`, { ...headers, ...key }).slice(1));
    const { status, headers: rejectionHeaders, body } = await connection.response();
    expect([status, body]).toEqual([503, errorText(-32603, 'this gateway is about to stop: connect again')]);
    expect(rejectionHeaders['retry-after']).toBe('01');
    connection.destroy();
    for (const exchange of held) asUsual(exchange);
    await drain;
    expect(await busy.closed).toEqual(restart);
  });

  it('destroys sockets whose calls take longer than DRAIN_TIMEOUT_MS, or that send no close frame', async () => {
    await start({ DRAIN_TIMEOUT_MS: '300' });
    const [hanging, deaf] = [await open(), await open()];
    node.next(hang);
    hanging.send(storageAt);
    await inFlight();
    deaf.socket.pause();
    expect(await drained()).toBeGreaterThan(290);
    expect((await hanging.closed).code).toBe(1006);
  });
});
