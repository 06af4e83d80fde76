import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slow } from '../../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { errorText, resultText } from './expect-response.ts';
import { openRaw, post, type RawConnection } from './raw-connection.ts';

/** Requests of which a proxy before the gateway may read the host or the end differently. */

const word = `0x${'0'.repeat(64)}`;
const method = 'eth_getStorageAt';
const call = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":["0x1212121212121212121212121212121212121212","0x${id}","latest"]}`;
const chunks = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const websocket =
  'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
const h2c = 'connection: upgrade\r\nupgrade: h2c\r\n';

let node: FakeNode;
let gateway: TestGateway;
let connection: RawConnection;
/** Bytes with the path of a call in place of PATH. */
const complete = (bytes: string): string =>
  bytes.replaceAll('PATH', `/main/v3/${gateway.key}`).replaceAll('SOCKET', `/main/ws/v3/${gateway.key}`);

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5, responses: { [method]: word } });
  gateway = await startGateway({ main: network(5, [node.url]) }, { CACHE_MAX_BYTES: '0' });
});
afterEach(() => {
  connection.destroy();
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const withLength = `content-length: ${call(1).length}\r\n\r\n${call(1)}`;
const inChunks = `\r\n\r\n${chunks(call(1))}`;
const ambiguous: [string, string][] = [
  ['two Host lines', `POST PATH HTTP/1.1\r\nhost: a\r\nHost: b\r\n${withLength}`],
  ['two equal Host lines', `POST PATH HTTP/1.1\r\nhost: a\r\nhOsT: a\r\n${withLength}`],
  ['two Host lines in HTTP/1.0', `POST PATH HTTP/1.0\r\nhost: a\r\nhost: b\r\n${withLength}`],
  [
    'a second Host after 90 headers',
    `POST PATH HTTP/1.1\r\nhost: a\r\n${'a:b\r\n'.repeat(90)}host: b\r\n${withLength}`,
  ],
  ['gzip before chunked', `POST PATH HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked${inChunks}`],
  [
    'gzip and chunked in two lines',
    `POST PATH HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked${inChunks}`,
  ],
  ['another coding than chunked', `POST PATH HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked${inChunks}`],
  ['chunked before another coding', `POST PATH HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity${inChunks}`],
  [
    'chunked twice',
    `POST PATH HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked${inChunks}`,
  ],
  [
    'gzip after 90 headers',
    `POST PATH HTTP/1.1\r\nhost: a\r\n${'a:b\r\n'.repeat(90)}transfer-encoding: gzip, chunked${inChunks}`,
  ],
  [
    'chunks in HTTP/1.0',
    `POST PATH HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\ntransfer-encoding: chunked${inChunks}`,
  ],
  ['two Host lines of an upgrade', `GET SOCKET HTTP/1.1\r\nhost: a\r\nhost: b\r\n${websocket}\r\n`],
  [
    'gzip before chunked in an upgrade',
    `GET SOCKET HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n${websocket}\r\n`,
  ],
  ['two Host lines of an ignored upgrade', `POST PATH HTTP/1.1\r\nhost: a\r\nhost: b\r\n${h2c}${withLength}`],
  ['no Host line', `POST PATH HTTP/1.1\r\n${withLength}`],
];

describe.each(ambiguous)('%s', (_, bytes) => {
  it('is 400, and a request that follows it is not handled', async () => {
    const before = node.callsOf(method).length;
    connection = await openRaw(gateway.gateway.port);
    connection.send(complete(bytes + post('PATH', call(2)) + `GET SOCKET HTTP/1.1\r\nhost: a\r\n${websocket}\r\n`));
    const response = await connection.response();
    expect(response).toMatchObject({ status: 400, body: errorText(-32600, 'bad HTTP request') });
    expect(response.headers['connection']).toMatch(/close/i);
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f]{6}-[0-9a-z]+$/);
    await connection.closed;
    await expect(connection.response()).rejects.toThrow(/after: $/);
    // A call over another connection, which the node receives after any call of this one.
    expect(
      await gateway.call('main', method, ['0x1212121212121212121212121212121212121212', '0x99', 'latest']),
    ).toMatchObject({ result: word });
    expect(node.callsOf(method)).toHaveLength(before + 1);
  });
});

describe('an ambiguous request', () => {
  it.each([
    ['a call', post('PATH', call(4))],
    ['a WebSocket upgrade', `GET SOCKET HTTP/1.1\r\nhost: a\r\n${websocket}\r\n`],
    [
      'an ignored upgrade',
      `POST PATH HTTP/1.1\r\nhost: a\r\n${h2c}content-length: ${call(4).length}\r\n\r\n${call(4)}`,
    ],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['no HTTP', 'rubbish\r\n\r\n'],
  ])('is rejected after the response to an earlier request of its connection, before %s', async (_, after) => {
    node.next(slow(100), method);
    connection = await openRaw(gateway.gateway.port);
    connection.send(complete(post('PATH', call(3)) + (ambiguous[0]?.[1] ?? '') + after));
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('3', word) });
    expect(await connection.response()).toMatchObject({ status: 400 });
    await connection.closed;
    await expect(connection.response()).rejects.toThrow(/after: $/);
    expect(node.calls.some(({ body }) => body.includes('"0x4"'))).toBe(false);
  });
});

describe.each(ambiguous.filter(([name]) => name === 'two Host lines' || name === 'another coding than chunked'))(
  '%s, of a request that waits in the pipeline',
  (_, bytes) => {
    it('is 400 after the responses to the earlier requests, and closes', async () => {
      const earlier = [10, 11, 12, 13, 14, 15, 16];
      earlier.forEach(() => {
        node.next(slow(50), method);
      });
      connection = await openRaw(gateway.gateway.port);
      connection.send(complete(earlier.map((id) => post('PATH', call(id))).join('') + bytes + post('PATH', call(17))));
      for (const id of earlier)
        expect(await connection.response()).toMatchObject({ status: 200, body: resultText(String(id), word) });
      expect(await connection.response()).toMatchObject({ status: 400 });
      await connection.closed;
      await expect(connection.response()).rejects.toThrow(/after: $/);
      expect(node.calls.some(({ body }) => body.includes('"0x17"'))).toBe(false);
    });
  },
);

describe('the length of a body', () => {
  it.each([
    ['after 98 headers', ''],
    ['after 96 headers of an ignored upgrade', h2c],
  ])('%s is used: the body is not read as a request', async (_, upgrade) => {
    const inner = complete(post('PATH', call(5)));
    const before = node.callsOf(method).length;
    connection = await openRaw(gateway.gateway.port);
    const others = 'a:b\r\n'.repeat(upgrade === '' ? 98 : 96);
    const headers = `host: a\r\n${upgrade}${others}content-length: ${inner.length}\r\n\r\n`;
    connection.send(complete(`POST PATH HTTP/1.1\r\n${headers}`) + inner + complete(post('PATH', call(6))));
    expect(await connection.response()).toMatchObject({
      status: 400,
      body: errorText(-32700, 'parse error: the body is not JSON'),
    });
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('6', word) });
    expect(node.callsOf(method)).toHaveLength(before + 1);
  });

  it.each(['chunked', 'Chunked', 'CHUNKED'])('may be unknown: transfer-encoding: %s', async (coding) => {
    connection = await openRaw(gateway.gateway.port);
    connection.send(
      complete(`POST PATH HTTP/1.1\r\nhost: a\r\ntransfer-encoding: ${coding}\r\n\r\n${chunks(call(7))}`),
    );
    expect(await connection.response()).toMatchObject({ status: 200, body: resultText('7', word) });
  });
});
