import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { errorText, expectResponse, expectRejection, resultText } from './expect-response.ts';
import { head, openRaw, post as rawPost } from './raw-connection.ts';

const call = '{"jsonrpc":"2.0","id":1,"method":"net_version"}';
const rpcResponse = resultText('1', '5');
const tooLarge = 'body too large: at most 5000000 bytes are allowed';

let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 5 });
  gateway = await startGateway({ main: network(5, [node.url]) });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const post = (body: string, headers?: Record<string, string>): Promise<Response> => gateway.post('main', body, headers);
const path = (): string => `/main/v3/${gateway.key}`;

describe('a body', () => {
  it('of 5,000,000 bytes is read, one of a byte more is rejected with 413', async () => {
    await expectResponse(await post(call.padEnd(5_000_000)), 200, rpcResponse);
    await expectRejection(await post(call.padEnd(5_000_001)), 413, -32600, tooLarge);
  });

  it('whose announced length is too large is rejected before any of it arrives', async () => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(head(`POST ${path()}`, { 'content-length': 5_000_001 }));
    const { status, body } = await connection.response();
    expect([status, body]).toEqual([413, errorText(-32600, tooLarge)]);
    connection.destroy();
  });

  it('that is too large, without an announced length, is rejected once it exceeds the limit', async () => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(head(`POST ${path()}`, { 'transfer-encoding': 'chunked' }));
    const chunk = ' '.repeat(1_000_000);
    for (let count = 0; count < 5; count++) connection.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    connection.send('1\r\n \r\n');
    const { status, body } = await connection.response();
    expect([status, body]).toEqual([413, errorText(-32600, tooLarge)]);
    connection.destroy();
  });

  it.each(['keep-alive', 'close'])(
    'that is too large is rejected, and a client that sends all of it first gets the response: connection %s',
    async (connectionHeader) => {
      const connection = await openRaw(gateway.gateway.port);
      connection.socket.pause();
      const length = 30_000_000;
      connection.send(head(`POST ${path()}`, { 'content-length': length, connection: connectionHeader }));
      await new Promise<void>((resolve, reject) => {
        connection.socket.once('error', reject).write(Buffer.alloc(length, 32), () => {
          resolve();
        });
      });
      connection.socket.resume();
      const { status, body } = await connection.response();
      expect([status, body]).toEqual([413, errorText(-32600, tooLarge)]);
      if (connectionHeader === 'keep-alive') {
        connection.send(rawPost(path(), call));
        expect(await connection.response()).toMatchObject({ status: 200, body: rpcResponse });
      } else await connection.closed;
      connection.destroy();
    },
  );

  it('that is too large is rejected, and Node’s own client gets the response, with and without an announced length', async () => {
    const body = Buffer.alloc(20_000_000, 32);
    for (const headers of [{ 'content-length': body.length }, {}]) {
      const received = await new Promise((resolve, reject) => {
        const outgoing = request(gateway.url('main'), { method: 'POST', headers, agent: false }, (response) => {
          response.on('error', reject).resume();
          resolve(response.statusCode);
        });
        outgoing.on('error', reject).end(body);
      });
      expect(received).toBe(413);
    }
  });

  it.each(['deflate', 'br', 'zstd', 'gzip, identity', 'gzip, gzip', 'x'])(
    'in the encoding %s is rejected with 415, whose message names the supported encodings',
    async (encoding) => {
      const message = 'unsupported content encoding: send the body plain or in gzip';
      const response = await post(call, { 'content-encoding': encoding });
      await expectRejection(response, 415, -32600, message);
      expect(response.headers.get('accept-encoding')).toBe('gzip');
    },
  );

  it.each(['identity', 'Identity', ''])('in the encoding “%s” is read', async (encoding) => {
    await expectResponse(await post(call, { 'content-encoding': encoding }), 200, rpcResponse);
  });

  it.each(['text/plain', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded', 'application/xml', 'x'])(
    'of the content type %s is read',
    async (type) => {
      await expectResponse(await post(call, { 'content-type': type }), 200, rpcResponse);
    },
  );

  it('without a content type is read', async () => {
    const connection = await openRaw(gateway.gateway.port);
    connection.send(rawPost(path(), call));
    expect(await connection.response()).toMatchObject({ status: 200, body: rpcResponse });
    connection.destroy();
  });

  it('that is empty or missing is a parse error', async () => {
    await expectRejection(await post(''), 400, -32700, 'parse error: the body is not JSON');
    const response = await fetch(gateway.url('main'), { method: 'POST' });
    await expectRejection(response, 400, -32700, 'parse error: the body is not JSON');
  });

  it('may arrive byte by byte, multi-byte characters included', async () => {
    const id = '"é✓😀"';
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"net_version"}`);
    const chunked = await openRaw(gateway.gateway.port);
    chunked.socket.setNoDelay(true);
    chunked.send(head(`POST ${path()}`, { 'transfer-encoding': 'chunked' }));
    const plain = await openRaw(gateway.gateway.port);
    plain.socket.setNoDelay(true);
    plain.send(head(`POST ${path()}`, { 'content-length': bytes.length }));
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes.subarray(at, at + 1);
      chunked.send(Buffer.concat([Buffer.from('1\r\n'), byte, Buffer.from('\r\n')]));
      plain.send(byte);
      await new Promise(setImmediate);
    }
    chunked.send('0\r\n\r\n');
    expect(await chunked.response()).toMatchObject({ status: 200, body: resultText(id, '5') });
    expect(await plain.response()).toMatchObject({ status: 200, body: resultText(id, '5') });
    chunked.destroy();
    plain.destroy();
  });
});

describe('a body that is nested too deep is rejected without being parsed', () => {
  it.each([
    ['2.4 million brackets that open', '['.repeat(2_400_000)],
    ['2.4 million brackets that open and close', `${'['.repeat(1_200_000)}${']'.repeat(1_200_000)}`],
    ['objects in objects', '{"a":'.repeat(900_000)],
    ['a call with params of brackets', `{"jsonrpc":"2.0","id":1,"method":"x","params":${'['.repeat(2_400_000)}`],
  ])('%s', async (_, body) => {
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => {
      parse.mockRestore();
    });
    const response = await post(body);
    await expectRejection(response, 400, -32600, 'invalid request: nested too deep, or too many values');
    // JSON.parse of the second one takes 1.3 s.
    expect(Math.max(0, ...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(1_000);
  });

  it('64 levels are allowed, and brackets inside strings do not count', async () => {
    const nested = (levels: number): string =>
      `{"jsonrpc":"2.0","id":1,"method":"net_version","x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    await expectResponse(await post(nested(64)), 200, rpcResponse);
    await expectRejection(await post(nested(65)), 400, -32600, 'invalid request: nested too deep, or too many values');
    const text = JSON.stringify('['.repeat(1_000_000));
    await expectResponse(await post(`{"jsonrpc":"2.0","id":1,"method":"net_version","x":${text}}`), 200, rpcResponse);
  });

  it('5 MB of empty arrays are rejected, with too many values', async () => {
    const response = await post(`[[${'[],'.repeat(1_600_000)}[]]]`);
    await expectRejection(response, 400, -32600, 'invalid request: nested too deep, or too many values');
  });
});
