import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { turnBudget } from '../../../gateway/event-loop/turn-budget.ts';
import { slow } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventually } from '../../support/eventually.ts';
import { errorText } from './expect-response.ts';
import { head, openRaw, post, type RawConnection } from './raw-connection.ts';
import { untilGatewayHasRead } from './gateway-socket.ts';

const storageAt =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}';
const requestTimeoutMs = 300;

let node: FakeNode;
let gateway: TestGateway;
let path: string;
const opened: RawConnection[] = [];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  gateway = await startGateway({ main: network(5, [node.url]) }, { REQUEST_TIMEOUT_MS: String(requestTimeoutMs) });
  path = `/main/v3/${gateway.key}`;
});
afterEach(async () => {
  for (const connection of opened.splice(0)) connection.destroy();
  expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

async function open(bytes: string): Promise<RawConnection> {
  const connection = await openRaw(gateway.gateway.port);
  opened.push(connection);
  connection.send(bytes);
  return connection;
}

async function callsInFlight(): Promise<number> {
  const text = await (await fetch(`${gateway.address}/metrics`)).text();
  return Number(/^gatehouse_calls_in_flight\{network="main"\} (\d+)$/m.exec(text)?.[1]);
}

describe('a request that arrives too slowly is ended', () => {
  const tooSlow = errorText(-32600, 'the request took too long to arrive');

  it('with 408, in several turns of the event loop if many are late at once', async () => {
    const waits = vi.spyOn(turnBudget, 'wait');
    onTestFinished(() => {
      waits.mockRestore();
    });
    const late = await Promise.all(Array.from({ length: 600 }, () => open(`POST ${path} HTTP/1.1\r\n`)));
    for (const connection of late) expect((await connection.response()).status).toBe(408);
    expect(waits.mock.calls.some(([owner]) => owner === 'late requests')).toBe(true);
  });

  it.each([
    ['its body stops', () => `${head(`POST ${path}`, { 'content-length': 1_000 })}{"jsonrpc"`],
    ['its chunks stop', () => `${head(`POST ${path}`, { 'transfer-encoding': 'chunked' })}1\r\n{\r\n`],
    ['its headers stop', () => `POST ${path} HTTP/1.1\r\nhost: a\r\n`],
    ['only one byte arrives', () => 'P'],
  ])('with 408 when %s', async (_, bytes) => {
    // Node's timer, in real time.
    const start = Date.now();
    const connection = await open(bytes());
    const { status, body, headers } = await connection.response();
    expect([status, body]).toEqual([408, tooSlow]);
    expect(headers).toMatchObject({ connection: 'close', 'content-type': 'application/json' });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
    await connection.closed;
    expect(Date.now() - start).toBeGreaterThan(requestTimeoutMs - 20);
  });

  it('with 408 when single bytes arrive slowly', async () => {
    const connection = await open(head(`POST ${path}`, { 'content-length': 1_000 }));
    const trickle = clock.setInterval(() => {
      connection.send(' ');
    }, 20);
    expect((await connection.response()).status).toBe(408);
    clock.clearInterval(trickle);
  });

  it('without a second response when it was rejected before', async () => {
    const connection = await open(`${head(`POST /main/v3/wrong`, { 'content-length': 1_000 })}{`);
    expect((await connection.response()).status).toBe(401);
    await expect(connection.response()).rejects.toThrow(/the connection ended after: $/);
  });

  it('but a slow upstream does not make a slow request', async () => {
    node.next(slow(requestTimeoutMs * 3));
    const connection = await open(post(path, storageAt));
    expect((await connection.response()).status).toBe(200);
  });
});

describe('a client that disconnects', () => {
  it.each([
    ['in its headers', () => `POST ${path} HTTP/1.1\r\nho`],
    ['in its body', () => `${head(`POST ${path}`, { 'content-length': 1_000 })}{"jsonrpc"`],
    ['in its chunks', () => `${head(`POST ${path}`, { 'transfer-encoding': 'chunked' })}5\r\n{"a`],
    ['in a body that was rejected', () => `${head('POST /main/v3/wrong', { 'content-length': 1_000 })}{`],
  ])('%s does not affect later calls', async (_, bytes) => {
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const connection = await open(bytes());
      await untilGatewayHasRead(connection.socket);
      connection.socket[leave]();
      await connection.closed;
      expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
    }
  });

  it('while its call is in progress leaves no call counted as in flight', async () => {
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      node.next(slow(1_000));
      const connection = await open(post(path, storageAt));
      await eventually(async () => (await callsInFlight()) === 1);
      connection.socket[leave]();
      await eventually(async () => (await callsInFlight()) === 0);
    }
  });
});
