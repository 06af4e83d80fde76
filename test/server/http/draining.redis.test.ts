import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { withoutTime } from '../../support/elastic-clock.ts';
import { eventually } from '../../support/eventually.ts';
import { asUsual, hang, slow, type Exchange } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis } from '../../support/redis.ts';
import { resultText } from './expect-response.ts';
import { head, openRaw, post, type RawConnection } from './raw-connection.ts';
import { untilGatewayHasRead } from './gateway-socket.ts';

const word = `0x${'0'.repeat(64)}`;
const storageAt =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}';
const netVersion = '{"jsonrpc":"2.0","id":2,"method":"net_version"}';

let node: FakeNode;
let gateway: TestGateway;
let path: string;
let atFirst: string[];
const opened: RawConnection[] = [];
/** A drain that waits for its limit ends after the test. */
const patient = { DRAIN_TIMEOUT_MS: '600000' };

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
  atFirst = handles();
});
afterEach(async () => {
  for (const connection of opened.splice(0)) connection.destroy();
  await gateway.stop();
});
afterAll(() => node.close());

async function start(env: Record<string, string> = {}): Promise<void> {
  gateway = await startGateway({ main: network(5, [node.url]) }, env);
  path = `/main/v3/${gateway.key}`;
}

async function open(bytes?: string): Promise<RawConnection> {
  const connection = await openRaw(gateway.gateway.port);
  opened.push(connection);
  if (bytes !== undefined) connection.send(bytes);
  return connection;
}

async function inFlight(): Promise<void> {
  const before = node.callsOf('eth_getStorageAt').length;
  await expect.poll(() => node.callsOf('eth_getStorageAt').length, { interval: 5 }).toBeGreaterThan(before);
}

describe('a gateway that drains', () => {
  it('completes the calls in progress, then closes their connections', async () => {
    await start();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    const connection = await open(post(path, storageAt));
    await inFlight();
    await withoutTime(async () => {
      const drain = gateway.gateway.drain();
      for (const exchange of held) asUsual(exchange);
      expect(await connection.response()).toMatchObject({ status: 200, body: resultText('1', word) });
      await connection.closed;
      await drain;
    });
  });

  it('accepts no new connections', async () => {
    await start();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    await open(post(path, storageAt));
    await inFlight();
    const drain = gateway.gateway.drain();
    await expect(openRaw(gateway.gateway.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    for (const exchange of held) asUsual(exchange);
    await drain;
  });

  it('sends Connection: close with every pending and every further response', async () => {
    await start();
    const connection = await open();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    connection.send(post(path, storageAt));
    await inFlight();
    // The beginning of a request that Node does not count as one yet.
    const late = await open('POST ');
    await untilGatewayHasRead(late.socket);
    const drain = gateway.gateway.drain();
    late.send(post(path, netVersion).slice('POST '.length));
    for (const exchange of held) asUsual(exchange);
    for (const [caller, body] of [
      [connection, resultText('1', word)],
      [late, resultText('2', '5')],
    ] as const) {
      const response = await caller.response();
      expect(response).toMatchObject({ status: 200, body, headers: { connection: 'close' } });
      await caller.closed;
    }
    await drain;
  });

  it('handles a connection that was accepted just before and sends its first byte just after', async () => {
    await start();
    const connection = await open();
    await untilGatewayHasRead(connection.socket);
    const drain = gateway.gateway.drain();
    connection.send(post(path, netVersion));
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('2', '5') });
    await drain;
  });

  it('closes idle connections, and those without any input, at once', async () => {
    await start(patient);
    const idle = await open(post(path, netVersion));
    expect((await idle.response()).headers['connection']).toBe('keep-alive');
    const silent = await open();
    await untilGatewayHasRead(silent.socket);
    await gateway.gateway.drain();
    await Promise.all([idle.closed, silent.closed]);
  });

  it('ends although a client sends one call after another on its connection', async () => {
    await start(patient);
    const connection = await open();
    let responses = 0;
    const caller = (async () => {
      for (;;) {
        connection.send(post(path, netVersion));
        await connection.response();
        responses++;
      }
    })().catch(() => undefined);
    await eventually(() => responses > 1);
    await gateway.gateway.drain();
    await caller;
  });

  it('ends requests that take longer than DRAIN_TIMEOUT_MS', async () => {
    await start({ DRAIN_TIMEOUT_MS: '200' });
    node.next(hang);
    const hanging = await open(post(path, storageAt));
    await inFlight();
    const halfSent = await open(`${head(`POST ${path}`, { 'content-length': 100 })}{`);
    const headless = await open('POST /main');
    for (const { socket } of [halfSent, headless]) await untilGatewayHasRead(socket);
    const startedAt = clock.now();
    await gateway.gateway.drain();
    expect(clock.now() - startedAt).toBeGreaterThan(190);
    await Promise.all([hanging.closed, halfSent.closed, headless.closed]);
  });

  it('does not wait for rejected clients that never close', async () => {
    await start(patient);
    for (const bytes of [head('CONNECT a.test:443'), 'rubbish\r\n\r\n', head('PUT /main/v3/x'), head('GET /')]) {
      await (await open(bytes)).response();
    }
    await gateway.gateway.drain();
    expect(await isClosed()).toBe(true);
  });

  it('may be drained twice: both drains end after the calls in progress', async () => {
    await start();
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    const connection = await open(post(path, storageAt));
    await inFlight();
    const order: string[] = [];
    const { gateway: draining } = gateway;
    const drains = ['first', 'second'].map((name) => draining.drain().then(() => order.push(name)));
    expect(await isClosed()).toBe(true);
    order.push('released');
    for (const exchange of held) asUsual(exchange);
    await Promise.all(drains);
    expect(order[0]).toBe('released');
    expect(await connection.response()).toMatchObject({ status: 200 });
    await draining.drain();
  });

  it('writes usage and closes the other parts if one cannot be closed, and rejects', async () => {
    await start();
    await (await open(post(path, storageAt))).response();
    const { gateway: draining, dataDir } = gateway;
    const stop = draining.localChains.stop.bind(draining.localChains);
    draining.localChains.stop = async () => {
      await stop();
      throw new Error('not stopped');
    };
    await expect(draining.drain()).rejects.toThrow('not stopped');
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'));
    expect(texts.some((text) => text.includes('eth_getStorageAt'))).toBe(true);
    await start();
  });
});

/** Whether calls are no longer accepted. */
async function isClosed(): Promise<boolean> {
  const connection = await openRaw(gateway.gateway.port).catch(() => undefined);
  connection?.destroy();
  return connection === undefined;
}

describe('a gateway that drains with a delay', () => {
  const readyz = head('GET /readyz');

  it('reports not ready at once, accepts calls with Connection: close during the delay, and none after it', async () => {
    await start();
    const before = await open(post(path, netVersion));
    expect((await before.response()).headers['connection']).toBe('keep-alive');
    let isOver = false;
    const drain = gateway.gateway.drain(2_000).then(() => (isOver = true));
    for (const connection of [before, await open()]) {
      connection.send(post(path, storageAt));
      const response = await connection.response();
      expect(response).toMatchObject({ status: 200, body: resultText('1', word), headers: { connection: 'close' } });
      await connection.closed;
    }
    const probe = await (await open(readyz)).response();
    expect([probe.status, JSON.parse(probe.body)]).toMatchObject([503, { ready: false, draining: true }]);
    expect(isOver).toBe(false);
    await drain;
    await expect(openRaw(gateway.gateway.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('reports not ready on OPS_PORT until the last call has ended', async () => {
    await start({ OPS_PORT: '0' });
    const probe = async (): Promise<number> => {
      const connection = await openRaw(gateway.gateway.opsPort ?? 0);
      opened.push(connection);
      connection.send(readyz);
      return (await connection.response()).status;
    };
    expect(await probe()).toBe(200);
    const held: Exchange[] = [];
    node.next((exchange) => void held.push(exchange));
    const connection = await open(post(path, storageAt));
    await inFlight();
    const drain = gateway.gateway.drain(100);
    expect(await probe()).toBe(503);
    await eventually(isClosed);
    expect(await probe()).toBe(503);
    for (const exchange of held) asUsual(exchange);
    expect(await connection.response()).toMatchObject({ status: 200 });
    await drain;
  });
});

it.each([
  ['keys in a file', false],
  ['keys in Redis', true],
])('a gateway that has drained leaves no handle behind: %s', async (_, withRedis) => {
  const redis = withRedis ? await startRedis() : undefined;
  await start({ OPS_PORT: '0', ...(redis !== undefined && { REDIS_URL: redis.url }) });
  for (const body of [storageAt, netVersion, '{']) {
    const connection = await open(post(path, body));
    await connection.response();
  }
  node.next(slow(100));
  await open(post(path, storageAt));
  await inFlight();
  expect(handles().length).toBeGreaterThan(atFirst.length);
  await gateway.gateway.drain();
  for (const connection of opened.splice(0)) connection.destroy();
  await redis?.stop();
  await expect.poll(handles).toEqual(atFirst);
});

/** Sockets, servers, pipes and timers that keep this process alive. The fake node’s own connections end with ours. */
function handles(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => !['Immediate', 'Timeout'].includes(name))
    .toSorted();
}
