import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { makeKey } from '../../../gateway/auth/formats/key.ts';
import { errorText, expectRejection, resultText } from '../http/expect-response.ts';
import { head, openRaw, post, type RawConnection, type RawResponse } from '../http/raw-connection.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { slow } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/redis.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';
import { untilGatewayHasRead } from '../http/gateway-socket.ts';

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': 13,
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const netVersion = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
const storageAt =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}';

let node: FakeNode;
let gateway: TestGateway;
let connection: RawConnection | undefined;
const callers: Caller[] = [];

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  gateway = await startGateway(
    {
      main: network(5, [node.url], { baseUrls: ['https://main.example.org', 'https://chains.example.org/main'] }),
      other: network(6, [node.url], { baseUrls: ['https://chains.example.org/other'] }),
    },
    { socketsPerKey: '2', unknownKeysMax: '3' },
  );
});
afterEach(async () => {
  connection?.destroy();
  for (const caller of callers.splice(0)) {
    caller.socket.terminate();
    await caller.closed;
  }
  // The limit of a key counts sockets until the gateway has detected their close.
  await expect.poll(socketsOpen).toBe(0);
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

async function socketsOpen(): Promise<number> {
  const { samplesOf } = await readMetrics(gateway.address);
  return samplesOf('gatehouse_websockets_open').reduce((sum, { value }) => sum + value, 0);
}

async function sendUpgrade(bytes: string, port = gateway.gateway.port): Promise<RawResponse> {
  connection = await openRaw(port);
  connection.send(bytes);
  return connection.response();
}

const upgrade = (path: string, more: Record<string, string | number> = {}, to = gateway): string =>
  head(`GET ${path.replace('KEY', to.key)}`, { ...handshake, ...more });

function expectRejected(response: RawResponse, status: number, code: number, message: string): void {
  expect([response.status, response.body]).toEqual([status, errorText(code, message)]);
  expect(response.headers).toMatchObject({
    'content-type': 'application/json',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id',
    connection: 'close',
  });
  expect(response.headers['x-request-id']).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
  if (status === 503) expect(response.headers['retry-after']).toBe('01');
}

async function open(url = socketUrl(gateway, 'main'), headers: Record<string, string> = {}): Promise<Caller> {
  const caller = await openCaller(url, { headers });
  callers.push(caller);
  return caller;
}

describe('a WebSocket is opened', () => {
  it.each([
    ['/main/ws/v3/KEY', '127.0.0.1', '5'],
    ['/other/ws/v3/KEY/?x=y', '127.0.0.1', '6'],
    ['//main//ws//v3//KEY', '127.0.0.1', '5'],
    ['/ws/v3/KEY', 'main.example.org', '5'],
    ['/main/ws/v3/KEY', 'chains.example.org', '5'],
    ['/other/ws/v3/KEY', 'CHAINS.example.org:8545', '6'],
  ])('at %s of %s', async (path, host, chain) => {
    const url = `ws://127.0.0.1:${gateway.gateway.port}${path.replace('KEY', gateway.key)}`;
    expect(await (await open(url, { host })).call('net_version')).toMatchObject({ result: chain });
  });

  it('for a page of any origin, with a request id and without compression', async () => {
    const origin = { origin: 'https://dapp.example.org', 'sec-websocket-extensions': 'permessage-deflate' };
    const response = await sendUpgrade(upgrade('/main/ws/v3/KEY', origin));
    expect(response.status).toBe(101);
    expect(response.headers['sec-websocket-accept']).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
    expect(response.headers['sec-websocket-extensions']).toBeUndefined();
  });

  it('with one request id, also after others', async () => {
    for (let count = 0; count < 3; count++) {
      const socket = new WebSocket(socketUrl(gateway, 'main'));
      const [{ rawHeaders }] = (await once(socket, 'upgrade')) as [IncomingMessage];
      expect(rawHeaders.filter((name) => name === 'X-Request-Id')).toHaveLength(1);
      socket.terminate();
      await once(socket, 'close');
    }
  });

  it('on a connection that served calls before', async () => {
    connection = await openRaw(gateway.gateway.port);
    connection.send(post(`/main/v3/${gateway.key}`, netVersion));
    expect((await connection.response()).status).toBe(200);
    connection.send(upgrade('/main/ws/v3/KEY'));
    expect((await connection.response()).status).toBe(101);
  });

  it('and its first message may arrive with the request', async () => {
    const masked = Buffer.concat([Buffer.from([0x81, 0x80 | netVersion.length, 0, 0, 0, 0]), Buffer.from(netVersion)]);
    connection = await openRaw(gateway.gateway.port);
    const { socket } = connection;
    const received: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    connection.send(Buffer.concat([Buffer.from(upgrade('/main/ws/v3/KEY')), masked]));
    await expect.poll(() => Buffer.concat(received).toString()).toContain(resultText('1', '5'));
  });

  it('but not while an earlier call on the connection has no response', async () => {
    node.next(slow(200));
    connection = await openRaw(gateway.gateway.port);
    connection.send(post(`/main/v3/${gateway.key}`, storageAt) + upgrade('/main/ws/v3/KEY'));
    await expect(connection.response()).rejects.toThrow('the connection ended after: ');
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });
});

describe('a WebSocket is rejected before 101', () => {
  it.each([
    ['/main/ws/v3/', 401, -32002, 'project id required in the url'],
    ['/main/ws/v3', 401, -32002, 'project id required in the url'],
    ['/main/ws/v3/nonsense', 401, -32002, 'invalid project id'],
    [`/main/ws/v3/${makeKey()}`, 401, -32002, 'invalid project id'],
    ['/main/v3/KEY', 404, -32002, 'WebSocket is at <base URL>/ws/v3/<key>'],
  ])('%s: %i', async (path, status, code, message) => {
    expectRejected(await sendUpgrade(upgrade(path)), status, code, message);
  });

  it.each(['/nowhere/ws/v3/KEY', '/ws/v3/KEY', '/', '/metrics', '/main/ws/v4/KEY', '/main/ws/ws/v3/KEY', '/%/ws/v3/x'])(
    '%s: 404, with the known base URLs',
    async (path) => {
      const response = await sendUpgrade(upgrade(path));
      const { error } = JSON.parse(response.body) as { error: { message: string } };
      expect(error.message).toContain('by WebSocket to <base URL>/ws/v3/<key>, where base URLs are: /main, ');
      expectRejected(response, 404, -32002, error.message);
    },
  );

  it.each([
    ['without a key', { 'sec-websocket-key': '' }, 'Missing or invalid Sec-WebSocket-Key header'],
    ['of another version', { 'sec-websocket-version': 12 }, 'Missing or invalid Sec-WebSocket-Version header'],
    ['with a wrong protocol', { 'sec-websocket-protocol': ',' }, 'Invalid Sec-WebSocket-Protocol header'],
  ])('a handshake %s: 400', async (_, headers, message) => {
    expectRejected(await sendUpgrade(upgrade('/main/ws/v3/KEY', headers)), 400, -32600, `bad HTTP request: ${message}`);
    // The error of one handshake does not affect the next.
    expect((await sendUpgrade(upgrade('/main/ws/v3/KEY'))).status).toBe(101);
  });

  it('a handshake without Host: 400', async () => {
    const bytes = upgrade('/main/ws/v3/KEY').replace('host: gateway.test\r\n', '');
    expectRejected(await sendUpgrade(bytes), 400, -32600, 'bad HTTP request');
  });

  it('beyond socketsPerKey: 429 and Retry-After, until one closes', async () => {
    const first = await open();
    await open(socketUrl(gateway, 'other'));
    const response = await sendUpgrade(upgrade('/main/ws/v3/KEY'));
    expectRejected(response, 429, -32005, 'too many WebSockets with this project id');
    expect(response.headers['retry-after']).toBe('01');
    first.socket.close();
    await first.closed;
    await expect.poll(async () => (await sendUpgrade(upgrade('/main/ws/v3/KEY'))).status).toBe(101);
  });

  it('from an address with too many unknown keys: 429', async () => {
    for (let tries = 0; tries < 3; tries++) await sendUpgrade(upgrade(`/main/ws/v3/${makeKey()}`));
    const response = await sendUpgrade(upgrade(`/main/ws/v3/${makeKey()}`));
    expectRejected(response, 429, -32005, 'too many unknown project ids from this address');
    expect(response.headers['retry-after']).toMatch(/^\d\d$/);
  });

  it('while the key store is unreachable: 503', async () => {
    const lonely = await startGateway(
      { main: network(5, [node.url]) },
      { REDIS_URL: `redis://127.0.0.1:${await freePort()}` },
    );
    const response = await sendUpgrade(upgrade('/main/ws/v3/KEY', {}, lonely), lonely.gateway.port);
    expectRejected(response, 503, -32603, 'the key cannot be checked at the moment');
    await lonely.stop();
  });

  it('and the rejection is counted', async () => {
    const count = async (): Promise<number> =>
      (await readMetrics(gateway.address)).value('gatehouse_http_rejections_total', { reason: 'key-missing' }) ?? 0;
    const before = await count();
    await sendUpgrade(upgrade('/main/ws/v3/'));
    expect(await count()).toBe(before + 1);
  });

  it('although the client disconnects before the response', async () => {
    for (let round = 0; round < 5; round++) {
      const raw = await openRaw(gateway.gateway.port);
      raw.send(upgrade(`/main/ws/v3/${makeKey()}`));
      raw.socket.resetAndDestroy();
      await once(raw.socket, 'close');
    }
    expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
  });
});

describe('the WebSocket address without an upgrade', () => {
  const url = (slug = 'main'): string => `${gateway.address}/${slug}/ws/v3/${gateway.key}`;

  it.each(['GET', 'POST', 'PUT'])('by %s is 426, and names the protocol', async (method) => {
    const response = await fetch(url(), { method, ...(method !== 'GET' && { body: netVersion }) });
    await expectRejection(response, 426, -32600, 'this address is for WebSocket only');
    expect(response.headers.get('upgrade')).toBe('websocket');
  });

  it('of an unknown network is 404', async () => {
    expect((await fetch(url('nowhere'))).status).toBe(404);
  });

  it('responds to a preflight', async () => {
    expect((await fetch(url(), { method: 'OPTIONS' })).status).toBe(204);
  });
});

describe('an upgrade to another protocol', () => {
  it('is ignored: the call gets a response, and the connection stays open', async () => {
    const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': '' };
    const warnings: Error[] = [];
    const logEntry = (warning: Error): void => void warnings.push(warning);
    process.on('warning', logEntry);
    connection = await openRaw(gateway.gateway.port);
    for (let round = 0; round < 12; round++) {
      const call = post(`/main/v3/${gateway.key}`, netVersion, h2c);
      // The body is sent separately, as by clients that send it after the headers.
      connection.send(call.slice(0, -netVersion.length));
      await untilGatewayHasRead(connection.socket);
      connection.send(call.slice(-netVersion.length));
      expect(await connection.response()).toMatchObject({ status: 200, body: resultText('1', '5') });
      connection.send(post(`/main/v3/${gateway.key}`, netVersion, h2c) + post(`/main/v3/${gateway.key}`, netVersion));
      expect(await connection.response()).toMatchObject({ status: 200 });
      expect(await connection.response()).toMatchObject({ status: 200, body: resultText('1', '5') });
    }
    process.off('warning', logEntry);
    // Such as a warning about too many listeners.
    expect(warnings).toEqual([]);
  });
});
