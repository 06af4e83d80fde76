import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { errorText, resultText } from './expect-response.ts';
import { head, openRaw, post, type RawConnection, type RawResponse } from './raw-connection.ts';
import { eventually, SOON_MS } from '../../support/eventually.ts';
import { gatewaySocket, untilGatewayHasRead } from './gateway-socket.ts';

/** Raw bytes on a socket, which HTTP clients do not send. */

const call = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"net_version"}`;
const storageAt =
  '{"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1212121212121212121212121212121212121212","0x0","latest"]}';
const word = `0x${'0'.repeat(64)}`;
const badHttp = errorText(-32600, 'bad HTTP request');

let node: FakeNode;
let gateway: TestGateway;
let path: string;
let connection: RawConnection;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: word } });
  gateway = await startGateway({ main: network(5, [node.url]) });
  path = `/main/v3/${gateway.key}`;
});
afterEach(() => {
  connection.destroy();
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

async function send(bytes: string | Buffer): Promise<RawResponse> {
  connection = await openRaw(gateway.gateway.port);
  connection.send(bytes);
  return connection.response();
}

function expectBadHttp(response: RawResponse, body = badHttp): void {
  expect([response.status, response.body]).toEqual([400, body]);
  expect(response.headers).toMatchObject({ 'content-type': 'application/json', 'access-control-allow-origin': '*' });
  expect(response.headers['x-request-id']).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
}

async function expectHealthy(): Promise<void> {
  expect(await gateway.call('main', 'net_version')).toMatchObject({ result: '5' });
}

describe('pipelined requests on one connection', () => {
  it('get responses in their order, also when the first takes longest', async () => {
    node.next(slow(100));
    connection = await openRaw(gateway.gateway.port);
    connection.send(post(path, storageAt) + post(path, call(2)) + head(`GET ${path}`) + post(path, call(4)));
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('1', word) });
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('2', '5') });
    expect(await connection.response()).toMatchObject({ status: 405 });
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('4', '5') });
  });

  it('may be ten', async () => {
    connection = await openRaw(gateway.gateway.port);
    connection.send(Array.from({ length: 10 }, (_, id) => post(path, call(id))).join(''));
    for (let id = 0; id < 10; id++) {
      expect((await connection.response()).body).toBe(resultText(String(id), '5'));
    }
  });

  it('end at the first one that is not HTTP, after the responses to those before it', async () => {
    connection = await openRaw(gateway.gateway.port);
    connection.send(post(path, call(1)));
    expect((await connection.response()).status).toBe(200);
    connection.send('rubbish\r\n\r\n');
    expectBadHttp(await connection.response());
    await connection.closed;
  });
});

describe('what is not HTTP is 400, -32600, and the connection is closed', () => {
  it.each([
    ['a line of words', 'hello there\r\n\r\n'],
    ['a TLS handshake', Buffer.from('16030100c8010000c40303', 'hex')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['zeros', Buffer.alloc(64)],
    ['a verb that does not exist', 'FROB /main/v3/x HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['no verb', ' / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a version that does not exist', 'POST / HTTP/9.9\r\nhost: a\r\n\r\n'],
    ['a space in the path', 'POST /a b HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['bytes beyond ASCII in the path', Buffer.from('POST /caf\xe9/v3/x HTTP/1.1\r\nhost: a\r\n\r\n', 'latin1')],
    ['an invalid length', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ten\r\n\r\n'],
    ['a length below zero', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length and chunks, as in request smuggling',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a header without a name', 'POST / HTTP/1.1\r\nhost: a\r\n: x\r\n\r\n'],
  ])('%s', async (_, bytes) => {
    expectBadHttp(await send(bytes));
    await connection.closed;
    await expectHealthy();
  });

  it('a chunk with an invalid size', async () => {
    expectBadHttp(await send(`${head(`POST ${path}`, { 'transfer-encoding': 'chunked' })}zz\r\n{}\r\n0\r\n\r\n`));
    await expectHealthy();
  });

  it('no Host in HTTP/1.1', async () => {
    expectBadHttp(await send(`POST ${path} HTTP/1.1\r\ncontent-length: ${call(1).length}\r\n\r\n${call(1)}`));
    await expectHealthy();
  });

  it('headers that are too large, also when most of them are still in progress', async () => {
    const body = errorText(-32600, 'bad HTTP request: headers too large');
    expectBadHttp(await send(post(path, call(1), { 'x-large': 'x'.repeat(17_000) })), body);
    connection.destroy();
    expectBadHttp(await send(post(path, call(1), { 'x-large': 'x'.repeat(2_000_000) })), body);
    connection.destroy();
    expectBadHttp(await send(post(`/${'x'.repeat(20_000)}`, call(1))), body);
    await expectHealthy();
  });

  it('a client that does not close the connection is disconnected within seconds', async () => {
    await send('rubbish\r\n\r\n');
    await eventually(() => {
      connection.send('more');
      return connection.socket.destroyed;
    }, SOON_MS);
  });
});

describe('unusual HTTP requests', () => {
  it('CONNECT is rejected with 405 and Allow', async () => {
    const response = await send(head('CONNECT example.org:443'));
    expect(response).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS', connection: 'close' } });
    expect(response.body).toBe(errorText(-32600, 'method not allowed: send JSON-RPC by POST'));
    await connection.closed;
  });

  it('CONNECT of a client that resets the connection does not end the process', async () => {
    for (let count = 0; count < 5; count++) {
      connection = await openRaw(gateway.gateway.port);
      await untilGatewayHasRead(connection.socket);
      const accepted = gatewaySocket(connection.socket);
      connection.send(head('CONNECT example.org:443'));
      if (count % 2 === 0) await connection.response();
      connection.socket.resetAndDestroy();
      await eventually(() => accepted?.destroyed === true);
    }
    await expectHealthy();
  });

  it('TRACE is rejected with 405, and is not echoed', async () => {
    const response = await send(head(`TRACE ${path}`, { 'x-secret': 'secret' }));
    expect(response).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS' } });
    expect(response.body).not.toContain('secret');
  });

  it('a URL in the request line is handled like its path', async () => {
    for (const host of ['gateway.test', '127.0.0.1:8545']) {
      const response = await send(post(`http://${host}${path}`, call(1)));
      expect(response).toMatchObject({ status: 200, body: resultText('1', '5') });
      connection.destroy();
    }
  });

  it('OPTIONS * is an unknown address', async () => {
    expect(await send(head('OPTIONS *'))).toMatchObject({ status: 404 });
  });

  it('HTTP/1.0 without a Host gets a response, and the connection is closed', async () => {
    const response = await send(`POST ${path} HTTP/1.0\r\ncontent-length: ${call(1).length}\r\n\r\n${call(1)}`);
    expect(response).toMatchObject({ status: 200, headers: { connection: 'close' }, body: resultText('1', '5') });
    await connection.closed;
  });

  it('Expect: 100-continue gets 100 before the body is sent', async () => {
    const first = await send(head(`POST ${path}`, { 'content-length': call(1).length, expect: '100-continue' }));
    expect(first.status).toBe(100);
    connection.send(call(1));
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('1', '5') });
  });

  it('an unknown Expect is ignored', async () => {
    const response = await send(post(path, call(1), { expect: 'the-unexpected' }));
    expect(response).toMatchObject({ status: 200, body: resultText('1', '5') });
  });

  it('an upgrade to HTTP/2 is ignored', async () => {
    const headers = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
    };
    expect(await send(post(path, call(1), headers))).toMatchObject({ status: 200, body: resultText('1', '5') });
  });

  it('a request id of the client is not used', async () => {
    const { headers } = await send(post(path, call(1), { 'x-request-id': 'mine' }));
    expect(headers['x-request-id']).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
  });
});
